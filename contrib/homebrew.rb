class Karptui < Formula
  desc "Terminal dashboard for Karpenter: what it does next, and why"
  homepage "$homepage"
  version "$version"
  license "Apache-2.0"
$platforms
  def install
    bin.install "karptui"
    bin.install_symlink "karptui" => "kubectl-karp"
    man1.install "karptui.1"
    generate_completions_from_executable(bin/"karptui", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/karptui --version")
    assert_match "general", shell_output("#{bin}/karptui pools --demo")
  end
end
