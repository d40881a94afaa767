"""The fields of NodePools and EC2NodeClasses that Karpenter v1.14.1 hashes: changing one drifts the NodeClaims.

Sources: ``NodeClaimTemplate`` in pkg/apis/v1/nodepool.go, hash version v3; ``EC2NodeClassSpec`` in the AWS provider's
pkg/apis/v1/ec2nodeclass.go, hash version v5. Fields marked ``hash:"ignore"`` there are missing here.
"""

from __future__ import annotations

from typing import Final

from karptui.whatif.drift.shape import Field, ListOf, Record, Scalar, TextMap

NODEPOOL_HASH_VERSION: Final = "v3"
EC2_NODECLASS_HASH_VERSION: Final = "v5"

_TEXTS: Final = TextMap(Scalar.TEXT)
_TAINTS: Final = ListOf(
    Record(
        "Taint",
        (
            Field("Key", "key", Scalar.TEXT),
            Field("Value", "value", Scalar.TEXT),
            Field("Effect", "effect", Scalar.TEXT),
        ),
    )
)
NODEPOOL_TEMPLATE: Final = Record(
    "NodeClaimTemplate",
    (
        Field(
            "ObjectMeta",
            "metadata",
            Record("ObjectMeta", (Field("Labels", "labels", _TEXTS), Field("Annotations", "annotations", _TEXTS))),
        ),
        Field(
            "Spec",
            "spec",
            Record(
                "NodeClaimTemplateSpec",
                (
                    Field("Taints", "taints", _TAINTS),
                    Field("StartupTaints", "startupTaints", _TAINTS),
                    Field(
                        "NodeClassRef",
                        "nodeClassRef",
                        Record(
                            "NodeClassReference",
                            (
                                Field("Kind", "kind", Scalar.TEXT),
                                Field("Name", "name", Scalar.TEXT),
                                Field("Group", "group", Scalar.TEXT),
                            ),
                        ),
                        is_pointer=True,
                    ),
                    Field("TerminationGracePeriod", "terminationGracePeriod", Scalar.DURATION, is_pointer=True),
                    Field("ExpireAfter", "expireAfter", Scalar.NILLABLE_DURATION),
                ),
            ),
        ),
    ),
)
"""``spec.template`` of a NodePool; ``requirements`` are compared by their meaning instead."""


def _text(go_name: str, json_name: str) -> Field:
    return Field(go_name, json_name, Scalar.TEXT, is_pointer=True)


def _int32(go_name: str, json_name: str) -> Field:
    return Field(go_name, json_name, Scalar.INT32, is_pointer=True)


_KUBELET: Final = Record(
    "KubeletConfiguration",
    (
        Field("ClusterDNS", "clusterDNS", ListOf(Scalar.TEXT)),
        _int32("MaxPods", "maxPods"),
        _int32("PodsPerCore", "podsPerCore"),
        Field("SystemReserved", "systemReserved", _TEXTS),
        Field("KubeReserved", "kubeReserved", _TEXTS),
        Field("EvictionHard", "evictionHard", _TEXTS),
        Field("EvictionSoft", "evictionSoft", _TEXTS),
        Field("EvictionSoftGracePeriod", "evictionSoftGracePeriod", TextMap(Scalar.DURATION)),
        _int32("EvictionMaxPodGracePeriod", "evictionMaxPodGracePeriod"),
        _int32("ImageGCHighThresholdPercent", "imageGCHighThresholdPercent"),
        _int32("ImageGCLowThresholdPercent", "imageGCLowThresholdPercent"),
        Field("CPUCFSQuota", "cpuCFSQuota", Scalar.BOOL, is_pointer=True),
    ),
)
_BLOCK_DEVICE: Final = Record(
    "BlockDevice",
    (
        Field("DeleteOnTermination", "deleteOnTermination", Scalar.BOOL, is_pointer=True),
        Field("Encrypted", "encrypted", Scalar.BOOL, is_pointer=True),
        Field("IOPS", "iops", Scalar.INT64, is_pointer=True),
        _text("KMSKeyID", "kmsKeyID"),
        _text("SnapshotID", "snapshotID"),
        Field("Throughput", "throughput", Scalar.INT64, is_pointer=True),
        _int32("VolumeInitializationRate", "volumeInitializationRate"),
        Field("VolumeSize", "volumeSize", Scalar.QUANTITY, is_pointer=True),
        _text("VolumeType", "volumeType"),
    ),
)
_BLOCK_DEVICES: Final = ListOf(
    Record(
        "BlockDeviceMapping",
        (
            _text("DeviceName", "deviceName"),
            Field("EBS", "ebs", _BLOCK_DEVICE, is_pointer=True),
            Field("RootVolume", "rootVolume", Scalar.BOOL),
        ),
    )
)
_INTERFACES: Final = ListOf(
    Record(
        "NetworkInterface",
        (
            Field("NetworkCardIndex", "networkCardIndex", Scalar.INT32),
            Field("DeviceIndex", "deviceIndex", Scalar.INT32),
            Field("InterfaceType", "interfaceType", Scalar.TEXT),
        ),
    )
)
EC2_NODECLASS_SPEC: Final = Record(
    "EC2NodeClassSpec",
    (
        Field(
            "PlacementGroupSelector",
            "placementGroupSelector",
            Record("PlacementGroupSelector", (_text("Name", "name"), _text("ID", "id"))),
            is_pointer=True,
        ),
        Field("AssociatePublicIPAddress", "associatePublicIPAddress", Scalar.BOOL, is_pointer=True),
        _text("UserData", "userData"),
        Field("Role", "role", Scalar.TEXT),
        _text("InstanceProfile", "instanceProfile"),
        Field("Tags", "tags", _TEXTS),
        Field("Kubelet", "kubelet", _KUBELET, is_pointer=True),
        Field("BlockDeviceMappings", "blockDeviceMappings", _BLOCK_DEVICES),
        _text("InstanceStorePolicy", "instanceStorePolicy"),
        Field("NetworkInterfaces", "networkInterfaces", _INTERFACES),
        Field("DetailedMonitoring", "detailedMonitoring", Scalar.BOOL, is_pointer=True),
        Field(
            "MetadataOptions",
            "metadataOptions",
            Record(
                "MetadataOptions",
                (
                    _text("HTTPEndpoint", "httpEndpoint"),
                    _text("HTTPProtocolIPv6", "httpProtocolIPv6"),
                    Field("HTTPPutResponseHopLimit", "httpPutResponseHopLimit", Scalar.INT64, is_pointer=True),
                    _text("HTTPTokens", "httpTokens"),
                ),
            ),
            is_pointer=True,
        ),
        Field(
            "ConnectionTracking",
            "connectionTracking",
            Record(
                "ConnectionTracking",
                (
                    _int32("TCPEstablishedTimeout", "tcpEstablishedTimeout"),
                    _int32("UDPStreamTimeout", "udpStreamTimeout"),
                    _int32("UDPTimeout", "udpTimeout"),
                ),
            ),
            is_pointer=True,
        ),
        _text("Context", "context"),
        Field(
            "CPUOptions",
            "cpuOptions",
            Record("CPUOptions", (_text("NestedVirtualization", "nestedVirtualization"),)),
            is_pointer=True,
        ),
    ),
)
"""``spec`` of an EC2NodeClass; the AMI family counts beside it by what it resolves to."""
