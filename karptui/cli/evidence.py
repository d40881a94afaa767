"""From flags and settings to what is known of instance types and prices."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from karptui.cli.errors import UsageError
from karptui.cli.options import price_flags

if TYPE_CHECKING:
    from karptui.aws.evidence import Evidence
    from karptui.config import Config
    from karptui.kube.live_usage import LiveUsage
    from karptui.sources.aws.source import AwsSource
    from karptui.sources.cluster.source import ClusterSource
    from karptui.sources.controller import ControllerSource
    from karptui.sources.demo.source import DemoSource
    from karptui.sources.evidence import EvidenceSource
    from karptui.sources.metrics.source import MetricsSource
    from karptui.sources.source import Source
    from karptui.sources.usage import UsageSource
    from karptui.state.cluster import ClusterState


PATIENCE_SECONDS: Final = 10.0
"""How long a command that looks once waits for prices; what has not come by then is taken from the built-in list."""
_POLL_SECONDS: Final = 0.01


def evidence_source(source: Source | None, config: Config, version: str = "") -> EvidenceSource:
    """Return what is known of types and prices beside what a source says; only a live cluster lets anybody be asked.

    Args:
        source: Where objects come from.
        config: Prices and settings that the user has said.
        version: Karpenter's, as the user says it; empty where it is to be found.
    """
    import msgspec

    from karptui.aws.evidence import Evidence
    from karptui.aws.prices import PriceSettings
    from karptui.karpenter.controller import DEFAULTS, ControllerInfo, Layer, layered
    from karptui.sources.cluster.source import ClusterSource
    from karptui.sources.demo.source import DemoSource
    from karptui.sources.evidence import EvidenceSource
    from karptui.sources.snapshot.source import SnapshotSource

    prices = PriceSettings(
        config.disable_pricing, config.price_multiplier, config.node_surcharge_per_hour, config.auto_mode_surcharge
    )
    said = Layer("the configuration", config.karpenter_settings)
    if isinstance(source, SnapshotSource):
        snapshot = source.snapshot
        version = snapshot.karpenter_version
        found = layered((said, Layer("the snapshot", snapshot.settings.environment)), version)
        return EvidenceSource(
            Evidence(
                settings=msgspec.structs.replace(
                    found.settings,
                    repair_policies=snapshot.settings.repair_policies,
                    reboot_history=snapshot.settings.reboot_history,
                ),
                settings_origin=_origin(found.origins.values()),
                setting_origins=found.origins,
                controller=ControllerInfo(title="the snapshot", version=version, version_source="the snapshot"),
                instance_types=snapshot.instance_types,
                taken_at_ns=snapshot.captured_at_ns,
                price_settings=prices,
            )
        )
    settings, origin = layered((said,), version).settings, said.origin if said.values else DEFAULTS
    base = Evidence(settings=settings, settings_origin=origin, price_settings=prices, stated_version=version)
    if isinstance(source, ClusterSource):
        return EvidenceSource(
            base,
            metrics=_metrics(source),
            aws=_aws(config) if config.aws else None,
            controller=_controller(source),
            usage=_usage(source),
        )
    if isinstance(source, DemoSource):
        return _of_demo(source, base)
    return EvidenceSource(base)


def _of_demo(source: DemoSource, base: Evidence) -> EvidenceSource:
    from karptui.aws.evidence import with_controller, with_rules
    from karptui.aws.region import FactPhase, FactStatus
    from karptui.sources.demo.karpenter import CONTROLLER, DemoMetrics
    from karptui.sources.evidence import EvidenceSource

    known = with_controller(base, CONTROLLER, FactStatus(phase=FactPhase.LIVE, as_of_ns=source.clock.now_ns()))
    return EvidenceSource(with_rules(known), metrics=DemoMetrics(source.clock, is_stepped=source.is_stepped))


def _origin(origins: Iterable[str]) -> str:
    """Return all who say something of settings, in words."""
    from karptui.karpenter.controller import DEFAULTS

    return " and ".join(sorted(set(origins), reverse=True)) or DEFAULTS


def evidence_for(args: argparse.Namespace, source: Source) -> EvidenceSource:
    """Return what is known of types and prices for a command that looks once.

    Commands without the flags of ``add_price_flags`` ask nobody; what a snapshot says of the controller they know.

    Raises:
        UsageError: when the configuration cannot be used.
    """
    import os

    from karptui.config import Config, ConfigError, load_config
    from karptui.paths import config_file
    from karptui.sources.demo.source import DemoSource
    from karptui.sources.snapshot.source import SnapshotSource

    version = args.karpenter_version or ""
    if not hasattr(args, "disable_pricing"):
        known = source if isinstance(source, (SnapshotSource, DemoSource)) else None
        return evidence_source(known, Config(), version)
    try:
        config = load_config(config_file(), os.environ, price_flags(args))
    except ConfigError as error:
        raise UsageError(str(error)) from error
    args.disable_pricing = config.disable_pricing
    return evidence_source(source, config, version)


def await_prices(source: EvidenceSource, state: ClusterState) -> None:
    """Wait until everybody who may be asked has answered or refused, but not for long."""
    import time

    from karptui.aws.region import place_of

    source.start()
    source.use_region(place_of(state.nodes.values(), state.nodeclasses.values()).region)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not source.is_settled and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    source.stop()


def _metrics(source: ClusterSource) -> MetricsSource:
    from karptui.sources.metrics.source import MetricsSource

    return MetricsSource(source)


def _controller(source: ClusterSource) -> ControllerSource:
    from karptui.sources.controller import ControllerSource

    return ControllerSource(source)


def _usage(source: ClusterSource) -> UsageSource:
    from karptui.sources.usage import UsageSource

    return UsageSource(source)


def _aws(config: Config) -> AwsSource:
    from karptui.aws.region import FactKind
    from karptui.paths import cache_dir
    from karptui.sources.aws.cache import FactCache
    from karptui.sources.aws.source import EVERYTHING, AwsSource

    prices = {FactKind.ON_DEMAND_PRICES, FactKind.SPOT_PRICES} if config.disable_pricing else set()
    return AwsSource(FactCache(cache_dir() / "aws"), profile=config.aws_profile, kinds=EVERYTHING - prices)


def measured_once(args: argparse.Namespace, source: Source) -> LiveUsage:
    """Return one measurement where ``--usage`` asks for it; why there is none is its sentence.

    Args:
        args: the flags; commands without ``--usage`` ask nobody.
        source: the cluster, while it still answers.
    """
    from karptui.kube.live_usage import NO_LIVE_USAGE, LiveUsage
    from karptui.sources.cluster.source import ClusterSource
    from karptui.sources.usage import UsageSource

    if not getattr(args, "usage", False):
        return NO_LIVE_USAGE
    if not isinstance(source, ClusterSource):
        return LiveUsage(sentence=f"--usage: {source.title} has no metrics-server to ask")
    usage = UsageSource(source)
    usage.want()
    usage.read()
    return usage.latest()
