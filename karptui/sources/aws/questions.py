"""Putting the questions to AWS; importing this module imports botocore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, assert_never

from karptui.aws.region import FactKind
from karptui.sources.aws import ec2, pricing
from karptui.sources.aws.calls import Caller, Wait
from karptui.sources.aws.ec2 import Identity
from karptui.sources.aws.kinds import RULES
from karptui.sources.aws.session import AwsSession
from karptui.sources.aws.trouble import AwsError, Trouble


class Clients(Protocol):
    """Makes clients: AwsSession, or a test's own."""

    @property
    def profile(self) -> str:
        """Named in sentences."""
        ...

    def region(self) -> str:
        """Return the configured region, empty for none."""
        ...

    def client(self, service: str, region: str) -> Any:
        """Return a client."""
        ...

    def close(self) -> None:
        """Close the clients."""
        ...


class Questions:
    """One conversation with AWS under one set of credentials."""

    def __init__(self, clients: Clients, *, now_ns: Callable[[], int], wait: Wait | None = None) -> None:
        self._clients = clients
        self._caller = Caller(wait=wait, profile=clients.profile)
        self._now_ns = now_ns

    def region(self) -> str:
        """Return the configured region, empty for none.

        Raises:
            AwsError: when the configuration cannot be used.
        """
        return self._clients.region()

    def identity(self, region: str) -> Identity:
        """Return whose credentials these are.

        Raises:
            AwsError: when they do not work, or STS cannot be reached.
        """
        return ec2.identity(self._caller, self._clients.client("sts", region))

    def close(self) -> None:
        """Close connections."""
        self._clients.close()

    def ask(self, kind: FactKind, region: str) -> Any:
        """Return the value of a fact, of the type that ``kinds`` gives.

        Raises:
            AwsError: when it cannot be had.
        """
        try:
            return self._ask(kind, region)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            sentence = f"{RULES[kind].action} gave an answer that cannot be read: {error!r}"
            raise AwsError(Trouble.OTHER, sentence) from error

    def _ask(self, kind: FactKind, region: str) -> Any:
        if kind is FactKind.ON_DEMAND_PRICES:
            client = self._clients.client("pricing", pricing.pricing_region(region))
            return pricing.on_demand_prices(self._caller, client, region)
        client = self._clients.client("ec2", region)
        match kind:
            case FactKind.INSTANCE_TYPES:
                return ec2.instance_types(self._caller, client)
            case FactKind.OFFERINGS:
                return ec2.zones_by_type(self._caller, client)
            case FactKind.SPOT_PRICES:
                return ec2.spot_prices(self._caller, client, now_ns=self._now_ns())
            case FactKind.ZONES:
                return ec2.zones(self._caller, client)
            case FactKind.SUBNETS:
                return ec2.subnets(self._caller, client)
            case FactKind.RESERVATIONS:
                return ec2.reservations(self._caller, client)
            case _:
                assert_never(kind)


def open_questions(profile: str, *, now_ns: Callable[[], int], wait: Wait) -> Questions:
    """Begin a conversation under a profile; empty for the default chain."""
    return Questions(AwsSession(profile), now_ns=now_ns, wait=wait)
