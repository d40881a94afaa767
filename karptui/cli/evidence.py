"""Instance types and prices from flags and settings."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from karptui.cli.options import price_flags

if TYPE_CHECKING:
    from karptui.aws.evidence import Evidence
    from karptui.aws.prices import PriceSettings
    from karptui.config import Config
    from karptui.karpenter.controller import Layer
    from karptui.karpenter.nodeclass import NodeClass
    from karptui.kube.objects import Node
    from karptui.kube.usage import LiveUsage
    from karptui.sources.aws.source import AwsSource
    from karptui.sources.demo.source import DemoSource
    from karptui.sources.evidence import EvidenceSource
    from karptui.sources.karpenter_identity import ProxyClient
    from karptui.sources.snapshot.reader import Snapshot
    from karptui.sources.source import Source


PATIENCE_SECONDS: Final = 10.0
"""Time that a command waits for prices; afterwards it uses the built-in list."""
_POLL_SECONDS: Final = 0.01


def evidence_source(source: Source | None, config: Config, version: str = "") -> EvidenceSource:
    """Return the source of instance types and prices; only a live cluster's asks AWS."""
    from karptui.sources.cluster.source import ClusterSource

    if isinstance(source, ClusterSource):
        return live_evidence(source, config, version)
    from karptui.sources.demo.source import DemoSource  # a cluster's first rows need none of these
    from karptui.sources.evidence import EvidenceSource
    from karptui.sources.snapshot.source import SnapshotSource

    if isinstance(source, SnapshotSource):
        return _of_snapshot(source.snapshot, config)
    base = _configured(config, version)
    if isinstance(source, DemoSource):
        return _of_demo(source, base)
    return EvidenceSource(base)


def live_evidence(client: ProxyClient, config: Config, version: str = "") -> EvidenceSource:
    """Return the evidence of a live cluster from Karpenter's Deployment and metrics, metrics-server and AWS."""
    from karptui.sources.controller import ControllerSource
    from karptui.sources.evidence import EvidenceSource
    from karptui.sources.metrics.source import MetricsSource
    from karptui.sources.usage import UsageSource

    return EvidenceSource(
        _configured(config, version),
        metrics=MetricsSource(client),
        aws=_aws(config) if config.aws else None,
        controller=ControllerSource(client),
        usage=UsageSource(client),
    )


def _configured(config: Config, version: str) -> Evidence:
    from karptui.aws.evidence import Evidence
    from karptui.karpenter.controller import DEFAULTS, layered

    layer = _config_layer(config)
    settings, origin = layered((layer,), version).settings, layer.origin if layer.values else DEFAULTS
    return Evidence(
        settings=settings, settings_origin=origin, price_settings=_price_settings(config), stated_version=version
    )


def _config_layer(config: Config) -> Layer:
    from karptui.karpenter.controller import Layer

    return Layer("the configuration", config.karpenter_settings)


def _price_settings(config: Config) -> PriceSettings:
    from karptui.aws.prices import PriceSettings

    return PriceSettings(
        config.disable_pricing, config.price_multiplier, config.node_surcharge_per_hour, config.auto_mode_surcharge
    )


def _of_snapshot(snapshot: Snapshot, config: Config) -> EvidenceSource:
    """Return a snapshot's evidence, with the user's settings over its own."""
    import msgspec

    from karptui.karpenter.controller import Layer, layered
    from karptui.sources.evidence import EvidenceSource

    evidence, layer = snapshot.evidence, _config_layer(config)
    settings = layered((layer, Layer("", evidence.settings.environment)), evidence.karpenter_version).settings
    origins = {**evidence.setting_origins, **dict.fromkeys(layer.values, layer.origin)}
    evidence = msgspec.structs.replace(
        evidence,
        settings=msgspec.structs.replace(
            settings,
            repair_policies=evidence.settings.repair_policies,
            reboot_history=evidence.settings.reboot_history,
        ),
        settings_origin=_origin(origins.values()),
        setting_origins=origins,
        price_settings=_price_settings(config),
    )
    return EvidenceSource(evidence, recorded_usage=snapshot.live_usage)


def _of_demo(source: DemoSource, base: Evidence) -> EvidenceSource:
    from karptui.aws.evidence import with_controller, with_rules
    from karptui.aws.region import FactPhase, FactStatus
    from karptui.sources.demo.karpenter import CONTROLLER, DemoMetrics
    from karptui.sources.demo.source import DemoMetricsServer
    from karptui.sources.evidence import EvidenceSource
    from karptui.sources.usage import UsageSource

    evidence = with_controller(base, CONTROLLER, FactStatus(phase=FactPhase.LIVE, as_of_ns=source.clock.now_ns()))
    return EvidenceSource(
        with_rules(evidence),
        metrics=DemoMetrics(source.clock, is_stepped=source.is_stepped),
        usage=UsageSource(DemoMetricsServer(source), clock=source.clock),
    )


def _origin(origins: Iterable[str]) -> str:
    from karptui.karpenter.controller import DEFAULTS

    return " and ".join(sorted(set(origins), reverse=True)) or DEFAULTS


def evidence_for(args: argparse.Namespace, source: Source) -> EvidenceSource:
    """Return instance types and prices for a command.

    Commands without the flags of ``add_price_flags`` ask no other source, but know the controller of a snapshot.

    Raises:
        ConfigError: The configuration is invalid.
    """
    from karptui.config import Config
    from karptui.sources.demo.source import DemoSource
    from karptui.sources.snapshot.source import SnapshotSource

    version = args.karpenter_version or ""
    if not hasattr(args, "disable_pricing"):
        snapshot_or_demo = source if isinstance(source, (SnapshotSource, DemoSource)) else None
        return evidence_source(snapshot_or_demo, Config(), version)
    return evidence_source(source, configuration(args), version)


def configuration(args: argparse.Namespace) -> Config:
    """Return the configuration file, the environment and the flags of ``add_price_flags`` together.

    Raises:
        ConfigError: if the configuration cannot be used.
    """
    import os

    from karptui.config import load_config
    from karptui.paths import config_file

    config = load_config(config_file(), os.environ, price_flags(args))
    args.disable_pricing = config.disable_pricing
    return config


def await_prices(source: EvidenceSource, nodes: Iterable[Node], nodeclasses: Iterable[NodeClass]) -> None:
    """Wait until all sources have answered or refused, within a limit."""
    import time

    from karptui.aws.region import place_of

    source.start()
    source.use_region(place_of(nodes, nodeclasses).region)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not source.is_settled and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    source.stop()


def _aws(config: Config) -> AwsSource:
    from karptui.paths import cache_dir
    from karptui.sources.aws.facts import FactCache
    from karptui.sources.aws.source import EVERYTHING, PRICES, AwsSource

    return AwsSource(
        FactCache(cache_dir() / "aws"),
        profile=config.aws_profile,
        asks_instance=config.aws_instance_metadata,
        kinds=EVERYTHING - PRICES if config.disable_pricing else EVERYTHING,
    )


def measured_once(args: argparse.Namespace, source: Source) -> LiveUsage:
    """Return one measurement with ``--usage``, or the reason why there is none."""
    from karptui.kube.usage import NO_LIVE_USAGE

    return measure(source) if getattr(args, "usage", False) else NO_LIVE_USAGE


def measure(source: Source) -> LiveUsage:
    """Return one measurement of live usage, or why there is none."""
    from karptui.kube.usage import LiveUsage
    from karptui.sources.cluster.source import ClusterSource
    from karptui.sources.demo.source import DemoMetricsServer, DemoSource
    from karptui.sources.snapshot.source import SnapshotSource
    from karptui.sources.usage import UsageSource

    if isinstance(source, SnapshotSource) and source.snapshot.live_usage.is_asked:
        return source.snapshot.live_usage
    if isinstance(source, DemoSource):
        usage = UsageSource(DemoMetricsServer(source), clock=source.clock)
    elif isinstance(source, ClusterSource):
        usage = UsageSource(source)
    else:
        return LiveUsage(sentence=f"--usage: {source.title} has no metrics-server to ask")
    usage.want()
    usage.step()
    return usage.latest()
