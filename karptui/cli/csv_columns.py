"""The columns of ``-o csv``, which stand in its header whether there are rows or not: what scripts read by name."""

from __future__ import annotations

from typing import Final


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NODES: Final = _names(
    """
    name node_claim pool type cap zone status status_seconds cpu_requested_millis cpu_daemonset_millis
    cpu_allocatable_millis mem_requested_bytes mem_daemonset_bytes mem_allocatable_bytes pods_requested
    pods_daemonset pods_allocatable gpu_requested gpu_daemonset gpu_allocatable ephemeral_requested_bytes
    ephemeral_daemonset_bytes ephemeral_allocatable_bytes arch used_cpu_millis used_mem_bytes delta_cpu_millis
    delta_mem_bytes delta_pods expires_seconds image price_per_hour price_currency price_source why why_codes
    goes_without_blockers held_per_hour pods_in_last_hour age_seconds
    """
)
"""Of nodes; behind them ``label:KEY`` for each of ``--extra-labels``."""

PODS: Final = _names(
    """
    name namespace status status_seconds cpu_millis mem_bytes used_cpu_millis used_mem_bytes gpu node pool owner
    protection priority age_seconds
    """
)
"""Of pods."""

POOLS: Final = _names(
    """
    rank name weight same_weight_as weight_within_10_of nodes nodes_share_percent cpu_used_millis
    cpu_limit_millis memory_used_bytes memory_limit_bytes limits cost_per_hour nodes_without_price
    daemonset_pods daemonset_cpu_millis daemonset_memory_bytes types_allowed types_offered
    types_excluded_by_daemonsets types_usable types_left_for_pending_pods budget_left policy
    consolidate_after_seconds drifted ready not_ready_because pods_matching pods_shared pods_new_nodes_here
    shared_with nodeclaims_created nodeclaims_created_by nodeclaims_provisioned pods pods_by explanation
    """
)
"""Of NodePools."""

POOL_DAEMONSETS: Final = _names(
    "name cpu_millis memory_bytes on_types of_types excludes room_without_it_on not_carried_because"
)
"""Of the DaemonSets of one NodePool."""

TYPES_OF_POOLS: Final = _names(
    """
    name rank types left_after_requirements left_after_offerings left_after_reserved left_after_daemonsets
    left_after_pod left_after_limits left cheapest cheapest_price_per_hour safe_overhead_percent note findings
    """
)
"""Of NodePools with the types each filter leaves."""

TYPES: Final = _names(
    """
    pool name rank vcpu_millis mem_advertised_bytes mem_capacity_bytes mem_allocatable_bytes
    cpu_allocatable_millis pods daemonset_pods daemonset_cpu_millis daemonset_mem_bytes largest_pod_cpu_millis
    largest_pod_mem_bytes largest_pod_slots offered on_demand_price_per_hour on_demand_price_source
    spot_price_per_hour spot_price_source nodes is_left removed_by why pending_pod pending_pod_short_mem_bytes
    fits_with_overhead_percent next_type matching_overhead_percent
    """
)
"""Of the types of one NodePool."""

TYPES_OF_CASE: Final = _names(
    """
    name vcpus memory_mib allocatable_cpu_millis allocatable_memory_mib pods on_demand_price_per_hour offered_in
    ruled_out
    """
)
"""Of the types of a case."""

LEDGER: Final = _names("pool type step memory_bytes cpu_millis pods ephemeral_storage_bytes other label note")
"""Of the account of one type in a NodePool."""

PENDING: Final = _names(
    """
    name namespace owner pods count requests age_seconds turn karpenter scheduler places nearest_pool
    nearest_miss nodes_tried nodes_refused error problems disagreements
    """
)
"""Of pods without a node, in groups."""

CLAIMS: Final = _names(
    """
    name pool type capacity_type zone launched_seconds registered_seconds initialized_seconds node status drift
    expires termination_grace_seconds deadline waiting_on age_seconds
    """
)
"""Of NodeClaims."""

BUDGETS: Final = _names(
    """
    pool reason nodes is_limited allowed deleting not_ready left deleting_nodes not_ready_nodes binding_index
    binding_line window_start window_end next_change next_allowed week problem
    """
)
"""Of disruption budgets by NodePool and reason."""

EVENTS: Final = _names("last first last_seconds count kind object reason message source")
"""Of events."""

NEXT: Final = _names("name pool type price_per_hour saves_per_hour held_by would_be replaced_by method")
"""Of nodes that would go."""

CHURN: Final = _names(
    """
    pool nodes created removed created_per_hour removed_per_hour reasons median_life_seconds lives_known
    removed_within_30m same_type_again pods_moved pods_moved_per_hour loops karpenter_since karpenter_created
    karpenter_disrupted karpenter_terminated
    """
)
"""Of what came and went, by NodePool."""

REPLACEMENTS: Final = _names(
    """
    removed nodeclaim node pool type capacity_type zone created reason lived_seconds pods_moved successors
    same_type by_events
    """
)
"""Of NodeClaims that were removed."""

ADVICE: Final = _names("severity rule title objects fact remedy price_per_hour docs edits")
"""Of findings."""
