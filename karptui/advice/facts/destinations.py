"""Where pods may go: NodePools by the taints and labels that pods of a template accept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from karptui.advice.facts.pods import PodFacts
from karptui.advice.facts.pools import PoolFacts
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod, PodTemplate
from karptui.provisioning.catalogue import bits
from karptui.provisioning.pool_types import may_go_to


class DestinationFacts(PoolFacts, PodFacts):
    """What is known of where pods may go."""

    @cached_property
    def _accepting(self) -> dict[tuple[object, ...], int]:
        return {}

    def accepting(self, template: PodTemplate) -> int:
        """Return which of the tried NodePools pods of a template may go to by taints and labels, as bits."""
        selector = tuple(sorted(template.node_selector.items()))
        key = (template.tolerations, selector, template.required_node_terms)
        mask = self._accepting.get(key)
        if mask is None:
            mask = 0
            pod = Pod(name="", template=template)
            for index, pool in enumerate(self.tried_pools):
                if may_go_to(pod, pool, self.requirements_of(pool)):
                    mask |= 1 << index
            self._accepting[key] = mask
        return mask

    def pools_for(self, template: PodTemplate) -> tuple[NodePool, ...]:
        """Return the tried NodePools that pods of a template may go to, in order."""
        return tuple(self.tried_pools[index] for index in bits(self.accepting(template)))

    @cached_property
    def pods_by_pools(self) -> Mapping[int, int]:
        """How many workload pods may go to exactly these NodePools, by bits of ``tried_pools``."""
        found: dict[int, int] = {}
        for group in self.workload_groups:
            mask = self.accepting(group.template)
            found[mask] = found.get(mask, 0) + len(group.pods)
        return found

    def pods_for_all(self, pools: Iterable[NodePool]) -> int:
        """Return how many workload pods may go to every one of these NodePools."""
        places = {pool.name: index for index, pool in enumerate(self.tried_pools)}
        wanted = sum(1 << places[pool.name] for pool in pools)
        return sum(count for mask, count in self.pods_by_pools.items() if mask & wanted == wanted)
