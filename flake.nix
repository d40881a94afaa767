{
  description = "karptui: a terminal dashboard for Karpenter";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
      version = builtins.head (builtins.match ".*__version__ = \"([^\"]+)\".*" (builtins.readFile ./karptui/__init__.py));
    in
    {
      packages = each (pkgs: {
        default = pkgs.python3Packages.buildPythonApplication {
          pname = "karptui";
          inherit version;
          pyproject = true;
          src = self;
          build-system = with pkgs.python3Packages; [ hatch-fancy-pypi-readme hatchling ];
          dependencies = with pkgs.python3Packages; [
            kubernetes msgspec platformdirs prometheus-client pyyaml rich textual textual-plotext
            tree-sitter tree-sitter-yaml urllib3 zstandard
            boto3
          ];
          # nixpkgs has one version of each: closer to ours than none.
          pythonRelaxDeps = true;
          doCheck = false;
          meta.mainProgram = "karptui";
        };
      });
    };
}
