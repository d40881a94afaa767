"""Pseudonyms of single values: each text field has a rule (``_RULES``), and a text without one becomes a pseudonym."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_network
from typing import Any, Final

from karptui.decode.kinds import OTHER_PROVIDERS, may_hold_nodeclasses
from karptui.decode.workload import JOB_CONTROLLER
from karptui.karpenter.labels import DISRUPTION_COST, HOSTNAME, NODEPOOL, POD_DELETION_COST, WELL_KNOWN
from karptui.kube.generated_names import ORIGIN_LABELS, TEMPLATE_HASHES
from karptui.kube.pod import PAUSE_IMAGE
from karptui.kube.volumes import SELECTED_NODE
from karptui.sources.snapshot import public
from karptui.sources.snapshot.messages import Fragments
from karptui.sources.snapshot.pseudonyms import ORIGIN, VALUE, Pseudonyms
from karptui.sources.snapshot.public import is_public_domain, is_public_key


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


NODE_CLASS: Final = "NodeClass"
_NAMES: Final[Mapping[str, str]] = {
    "namespace": "Namespace",
    "namespaces": "Namespace",
    "nodeName": "Node",
    "nominatedNodeName": "Node",
    "priorityClassName": "PriorityClass",
    "storageClassName": "StorageClass",
    "serviceAccountName": "ServiceAccount",
    "serviceAccount": "ServiceAccount",
    "schedulerName": "Scheduler",
    "runtimeClassName": "RuntimeClass",
    "volumeName": "PersistentVolume",
    "claimName": "PersistentVolumeClaim",
    "zone": "Zone",
    "availabilityZone": "Zone",
    "zoneID": "ZoneID",
    "instanceType": "InstanceType",
}
"""Fields that name something, with its kind."""
_NAME_LABELS: Final[Mapping[str, str]] = {
    NODEPOOL: "NodePool",
    HOSTNAME: "Node",
    "metadata.name": "Node",
    "kubernetes.io/metadata.name": "Namespace",
    "statefulset.kubernetes.io/pod-name": "Pod",
    "batch.kubernetes.io/job-name": "Job",
    "job-name": "Job",
    "kueue.x-k8s.io/pod-group-name": "Workload",
    "scheduling.x-k8s.io/pod-group": "PodGroup",
    "karpenter.k8s.aws/ec2nodeclass": NODE_CLASS,
    "eks.amazonaws.com/nodeclass": NODE_CLASS,
}
"""Labels and fields whose values name objects."""
_OS_IMAGE: Final = re.compile(
    r"Amazon Linux 20\d\d(\.\d{1,3}\.\d{8})?|Amazon Linux 2"
    r"|Bottlerocket OS( \d+(\.\d+){2} \(aws-k8s-\d\.\d\d(-[a-z]+)?\))?|Windows Server 20\d\d|Ubuntu \d\d\.\d\d"
)
_LONG_INTEGER: Final = re.compile(r"-?\d{1,19}")
_LABEL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
"""A valid label value; the pseudonym of an invalid one is invalid too."""
_ANNOTATION: Final = re.compile(r"|true|false|memory|shares-\d{1,3}")
_COST: Final = re.compile(
    r"[+-]?(\d{1,10}(\.\d{0,9})?|\.\d{1,9})([eE][+-]?\d{1,3})?|[+-]?(inf(inity)?|nan)", re.IGNORECASE
)
_IN_MESSAGE: Final = re.compile(r"\b(nodeclaim/|node/|NodeClaim )([a-z0-9][a-z0-9.-]*[a-z0-9])(?=[\s,]|$)")
_ADDRESS: Final = re.compile(r"\d{1,3}(\.\d{1,3}){3}(/\d{1,2})?")
"""One end of a range of addresses, or a single one."""
_HEX_ID: Final = re.compile(r"(?=.*\d)[0-9a-f]{6,}(-[0-9a-f]{4,})*")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_AWS_ID: Final = re.compile(r"(i|ami|subnet|sg|vpc|eni|vol|lt|cr|pg|snap|key)-([0-9a-f]{8,17})")
_ALIAS: Final = re.compile(r"(al2|al2023|bottlerocket|windows\d{4})@(latest|v?\d+(\.\d+){0,2})")
_DEVICE: Final = re.compile(r"/dev/(sd|xvd)[a-z]{1,2}\d?|/dev/nvme\d{1,2}n\d")
_VERSION: Final = re.compile(r"v?\d{1,3}(\.\d{1,4}){1,2}(-(vk|kubeedge)-)?")
"""Virtual nodes and KubeEdge's have versions of their own."""
_API_VERSION: Final = re.compile(r"v\d((alpha|beta)\d)?")
_SCHEME: Final = re.compile(r"(aws|azure|gce|kwok|oci|alicloud|ibm|openstack|vsphere):///?")
_XID: Final = re.compile(r"XID\d{1,3}")
"""Error numbers that the AWS provider's repair policies match."""
_EXPRESSION: Final = re.compile(
    r"([\d.+*/%()<>=!?:,&|\s-]|\b(vcpus|memory_mib|default_enis|ips_per_eni|max_pods|instance_type|max|min|int|double"
    r"|startsWith|endsWith|contains|matches|size|in|true|false)\b|\"[a-z0-9.-]{0,24}\"|'[a-z0-9.-]{0,24}')+"
)
_QUOTED: Final = re.compile(r"[\"']([a-z0-9.-]*)[\"']")
_KUBELET_LINE: Final = re.compile(
    r"max-?pods|kubelet|eviction|reserved|pods-?per-?core|apiVersion|kind:|^\s*(spec|config|flags):|^\s*\[settings",
    re.IGNORECASE,
)
_KUBELET_WORD: Final = re.compile(
    r"apiVersion|kind|spec|config|flags|settings|kubernetes|kubelet|KubeletConfiguration|NodeConfig|node\.eks\.aws/v1alpha1"
    r"|kubelet\.config\.k8s\.io/v1beta1|--kubelet-extra-args|--use-max-pods|(--)?(max-pods|pods-per-core|kube-reserved"
    r"|system-reserved|eviction-hard|eviction-soft)|maxPods|podsPerCore|kubeReserved|systemReserved|evictionHard"
    r"|evictionSoft|cpu|memory|ephemeral-storage|pid|memory\.available|nodefs\.(available|inodesFree)"
    r"|imagefs\.(available|inodesFree)|pid\.available|true|false|latest|jq|sed|-i|\d{1,7}([KMG]i?|m|%)?|-"
)
_WORD: Final = re.compile(r"[\w./@+%-]+")
_UNSPECIFIED: Final = frozenset({"0.0.0.0", "::", "127.0.0.1", "::1"})  # noqa: S104 - a host port's wildcard, compared
_API_GROUPS: Final = frozenset(
    {"policy", "storage.k8s.io", "scheduling.k8s.io", "autoscaling.x-k8s.io", "events.k8s.io", "karpenter.azure.com"}
    | {"karpenter.k8s.gcp", "rbac.authorization.k8s.io", "coordination.k8s.io", "kubelet.config.k8s.io"}
)

_PUBLIC_IF: Final[Mapping[str, Callable[[str], object]]] = {
    **dict.fromkeys(
        words(
            "creationTimestamp deletionTimestamp lastTransitionTime firstTimestamp lastTimestamp eventTime "
            "lastObservedTime deprecatedFirstTimestamp deprecatedLastTimestamp startTime startedAt finishedAt "
            "completionTime lastPodEventTime lastScheduleTime timeAdded endTime renewTime"
        ),
        public.INSTANT.fullmatch,
    ),
    **dict.fromkeys(
        words(
            "duration consolidateAfter expireAfter terminationGracePeriod tcpEstablishedTimeout udpTimeout "
            "udpStreamTimeout"
        ),
        public.DURATION.fullmatch,
    ),
    **dict.fromkeys(
        words("nodes minAvailable maxUnavailable maxSurge volumeSize price priceAdjustment storage cpu memory"),
        public.QUANTITY.fullmatch,
    ),
    **dict.fromkeys(
        words("architecture interfaceType volumeType nestedVirtualization reservationType tenancy state"),
        public.is_public_label_value,
    ),
    "schedule": public.is_schedule,
    "alias": _ALIAS.fullmatch,
    "managedBy": JOB_CONTROLLER.__eq__,
    "deviceName": _DEVICE.fullmatch,
}
"""Fields whose texts stay if they have a public form."""


class Values:
    """Replaces keys, labels, amounts and texts; the first pass over a recording learns the names in it."""

    def __init__(self, key: bytes) -> None:
        self.pseudonyms: Final = Pseudonyms(key)
        self.is_learning = False
        self.compared: set[str] = set()
        """Labels whose values ``Gt`` or ``Lt`` compares."""
        self.reasons: set[str] = set()
        """Reasons of conditions in the recording."""
        self._keys: dict[str, str] = {}
        self._messages: dict[str, str] = {}
        self._fragments = Fragments(self._in_message, self.pseudonyms.opaque)

    def named(self, kind: str, name: str) -> str | None:
        """Return the pseudonym of a name of a kind, of any kind if it is empty; None if the name is unknown."""
        if not kind:
            return self.pseudonyms.anywhere(name)
        return self.pseudonyms.of(kind, name) if self.pseudonyms.knows(kind, name) else None

    def text(self, field: str, value: str) -> str:
        """Return the pseudonym of the text in a field."""
        if not value:
            return value
        if field in _NAMES:
            return self.name(_NAMES[field], value)
        if field in _PUBLIC_IF:
            return self.unless_public(_PUBLIC_IF[field], value)
        rule = self._RULES.get(field)
        return rule(self, value) if rule is not None else self.opaque(value)

    def key(self, key: str) -> str:
        """Return the pseudonym of a label's key, a resource or the like; well-known ones stay, and public domains."""
        if is_public_key(key):
            return key
        pseudonym = self._keys.get(key)
        if pseudonym is None:
            domain, slash, _ = key.partition("/")
            prefix = domain if is_public_domain(domain) and _is_shared(domain) else self._domain(domain)
            word = self.pseudonyms.word(key)
            name = f"k-{word}" if _LABEL.fullmatch(key.rpartition("/")[2]) else f"malformed {word}"
            pseudonym = self._keys[key] = f"{prefix}/{name}" if slash else name
        return pseudonym

    def _domain(self, domain: str) -> str:
        """Return the pseudonym of a domain; a public one's subdomain stays one, because some are restricted."""
        parent = next(
            (public_domain for public_domain in public.DOMAINS if domain.endswith(f".{public_domain}")), "example"
        )
        return f"{self.pseudonyms.word(domain)}.{parent}"

    def label(self, key: str, value: Any) -> Any:
        """Return the pseudonym of a label's value; it stays a valid or invalid value."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or value in ("", "*"):
            return value
        kind = _NAME_LABELS.get(key) or public.kind_of_label(key)
        if kind == "ID":
            return self.aws_id(value)
        if kind:
            return self.name(kind, value)
        if key in WELL_KNOWN or (is_public_key(key) and key.startswith(("beta.kubernetes.io/", "eks.amazonaws.com/"))):
            return self.word_of_label(value)
        if key in self.compared and _LONG_INTEGER.fullmatch(value):
            return value
        if self.is_learning and key in TEMPLATE_HASHES:
            self.pseudonyms.learn_hash(value)
        name = self.name(ORIGIN if key in ORIGIN_LABELS else VALUE, value)
        return name if _LABEL.fullmatch(value) or self.is_learning else f"{name}-"

    def word_of_label(self, value: str) -> str:
        """Return the value of a well-known label, or its pseudonym."""
        return value if public.is_public_label_value(value) else self.name(VALUE, value)

    def amount(self, value: Any) -> Any:
        """Return an amount, or the pseudonym of an expression of other parts."""
        is_amount = not isinstance(value, str) or public.QUANTITY.fullmatch(value) or public.DURATION.fullmatch(value)
        return value if is_amount else self.expression(str(value))

    def annotation(self, key: str, value: Any) -> Any:
        """Return the value of an annotation that is a number, time or cost, or its pseudonym."""
        if not isinstance(value, str) or public.INTEGER.fullmatch(value):
            return value
        if key == SELECTED_NODE:
            return self.name("Node", value)
        rule = _COST if key in (POD_DELETION_COST, DISRUPTION_COST) else _ANNOTATION
        is_time = public.DURATION.fullmatch(value) or public.INSTANT.fullmatch(value)
        return value if is_time or rule.fullmatch(value) else self.opaque(value)

    def name(self, kind: str, name: str) -> str:
        """Return the pseudonym of an object's name."""
        if not name:
            return name
        if self.is_learning:
            self.pseudonyms.learn(kind, name)
            return name
        return self.pseudonyms.of(kind, name)

    def unless_public(self, is_public: Callable[[str], object], value: str) -> str:
        """Return a value that has a public form unchanged, any other as its pseudonym."""
        return value if is_public(value) else self.opaque(value)

    def opaque(self, text: str) -> str:
        """Return the pseudonym of a text that matters only for equality."""
        return self.pseudonyms.opaque(text)

    def word_for(self, text: str) -> str:
        """Return the pseudonym of a text, as one word."""
        return f"X{self.pseudonyms.word(text)}"

    def word(self, value: str) -> str:
        """Return a word of Kubernetes, Karpenter or AWS unchanged, any other as its pseudonym."""
        if value in public.vocabulary():
            return value
        return f"{self.word_for(value)}{NODE_CLASS if value.endswith(NODE_CLASS) else ''}"

    def reason(self, value: str) -> str:
        """Return the reason of a condition or event; of an unknown one its XIDs stay."""
        if self.is_learning:
            self.reasons.add(value)
        xids = _XID.findall(value)
        return f"{self.word_for(value)}{''.join(xids)}" if xids else self.word(value)

    def _uid(self, value: str) -> str:
        return value if _UUID.fullmatch(value) else self.name("Uid", value)

    def aws_id(self, value: str) -> str:
        """Return the pseudonym of an AWS ID, in the same form."""
        match = _AWS_ID.fullmatch(value)
        if match is None:
            return self.opaque(value)
        return f"{match[1]}-{self.pseudonyms.digest(value).hex()[: len(match[2])]}"

    def _provider_id(self, value: str) -> str:
        """Return a provider ID with the zone that it names; of others than AWS's only the provider stays."""
        scheme = _SCHEME.match(value)
        if scheme is None:
            return self.opaque(value)
        parts = value[scheme.end() :].lstrip("/").split("/")
        if scheme[1] == "aws" and len(parts) == 2:
            return f"aws:///{self.name('Zone', parts[0])}/{self.aws_id(parts[1])}"
        return f"{scheme[1]}:///{self.opaque(value)}"

    def _address(self, value: str) -> str:
        """Return the pseudonym of an address; a DNS name becomes its node's pseudonym if there is one."""
        plain, slash, bits = value.partition("/")
        bare = plain.strip("[]")
        if bare in _UNSPECIFIED:
            return value
        try:
            version = ip_address(bare).version if not slash else ip_network(value, strict=False).version
        except ValueError:
            return self.named("Node", value) or self.pseudonyms.opaque(value, "host")
        data = self.pseudonyms.digest(bare)
        address = f"10.{data[0]}.{data[1]}.{data[2]}" if version == 4 else f"fd00::{data[:2].hex()}:{data[2:4].hex()}"
        return f"{address}{slash}{bits}"

    def _api_version(self, value: str) -> str:
        group, slash, version = value.rpartition("/")
        shown_version = version if _API_VERSION.fullmatch(version) else "v1"
        return f"{self._group(group)}{slash}{shown_version}"

    def _group(self, group: str) -> str:
        if not group or group in public.GROUPS or group in OTHER_PROVIDERS or group in _API_GROUPS:
            return group
        word = self.pseudonyms.word(group)
        return f"karpenter.{word}.example" if may_hold_nodeclasses(group) else f"{word}.example"

    def driver(self, value: str) -> str:
        """Return a public CSI driver, or a pseudonym."""
        return value if value in public.DRIVERS else self.pseudonyms.opaque(value, "driver")

    def _component(self, value: str) -> str:
        """Return a component that publishes events; that one of Karpenter or a scheduler did so decides."""
        if value in public.COMPONENTS:
            return value
        kind = next((word for word in ("karpenter", "scheduler") if word in value), "component")
        return f"{kind}-{self.pseudonyms.word(value)}"

    def _generate_name(self, value: str) -> str:
        stem = value.rstrip("-")
        return f"{self.named('', stem) or self.opaque(stem)}{value[len(stem) :]}"

    def _holder(self, value: str) -> str:
        """Return the holder of a lease: a pod, and an identifier after ``_``."""
        pod, underscore, identifier = value.partition("_")
        return f"{self.name('Pod', pod)}{underscore}{identifier and self.opaque(identifier)}"

    def _image(self, value: str) -> str:
        """Return the pseudonym of an image; that of placeholders without work of their own stays."""
        return "registry.k8s.io/pause" if PAUSE_IMAGE.search(value) else self.opaque(value)

    def _os_image(self, value: str) -> str:
        match = _OS_IMAGE.match(value)
        return match[0] if match is not None else self.opaque(value)

    def expression(self, value: str) -> str:
        """Return a CEL expression unchanged if it has only Karpenter's variables, numbers and operators."""
        is_known = _EXPRESSION.fullmatch(value) and all(map(public.is_part_of_type, _QUOTED.findall(value)))
        return value if is_known else self.opaque(value)

    def _user_data(self, value: str) -> str:
        """Return the kubelet's settings and their values in user data."""
        lines = (line for line in value.splitlines() if _KUBELET_LINE.search(line))
        return _WORD.sub(lambda word: word[0] if _KUBELET_WORD.fullmatch(word[0]) else "x", "\n".join(lines))

    def _message(self, value: str) -> str:
        if self.is_learning:
            # NodeClaims and nodes that are gone are in messages alone.
            for kind, name in _IN_MESSAGE.findall(value):
                self.pseudonyms.learn("Node" if kind == "node/" else "NodeClaim", name)
            return value
        message = self._messages.get(value)
        if message is None:
            message = self._messages[value] = self._fragments.of(value)
        return message

    def _in_message(self, word: str) -> str | None:
        """Return the pseudonym of a word in a message, None if it names nothing in the recording."""
        if _AWS_ID.fullmatch(word):
            return self.aws_id(word)
        ends = word.split("-")
        if all(map(_ADDRESS.fullmatch, ends)):
            return "-".join(map(self._address, ends))
        if _HEX_ID.fullmatch(word):
            digits = iter(self.pseudonyms.digest(word).hex())
            return "".join(sign if sign == "-" else next(digits, "0") for sign in word)
        namespace, slash, name = word.partition("/")
        if slash and (place := self.named("Namespace", namespace)) is not None:
            pseudonym = self.named("Pod", name) or self.named("PodDisruptionBudget", name) or self.named("", name)
            return None if pseudonym is None else f"{place}/{pseudonym}"
        if word in self._keys or (is_public_key(word) and "/" in word):
            return self.key(word)
        return self.named("", word)

    def version(self, version: str) -> str:
        """Return a version without a fork's suffix."""
        match = _VERSION.match(version)
        return match[0] if match is not None else ""

    _RULES: Final[Mapping[str, Callable[[Values, str], str]]] = {
        **dict.fromkeys(
            words(
                "kind type status phase operator effect restartPolicy whenUnsatisfiable nodeAffinityPolicy policy "
                "nodeTaintsPolicy consolidationPolicy accessModes protocol volumeBindingMode reasons qosClass "
                "unhealthyPodEvictionPolicy reclaimPolicy volumeMode preemptionPolicy amiFamily instanceStorePolicy "
                "concurrencyPolicy"
            ),
            word,
        ),
        **dict.fromkeys(words("key topologyKey topologyKeys matchLabelKeys mismatchLabelKeys finalizers"), key),
        **dict.fromkeys(words("component reportingComponent reportingController"), _component),
        **dict.fromkeys(words("driver provisioner"), driver),
        **dict.fromkeys(words("address hostIP ip"), _address),
        **dict.fromkeys(words("id imageID"), aws_id),
        **dict.fromkeys(words("message note"), _message),
        **dict.fromkeys(
            words(
                "role instanceProfile owner ownerID ssmParameter kmsKeyID snapshotID volumeHandle volumeID "
                "pdName nodeID"
            ),
            opaque,
        ),
        "apiVersion": _api_version,
        "group": _group,
        "reason": reason,
        "uid": _uid,
        "providerID": _provider_id,
        "generateName": _generate_name,
        "image": _image,
        "holderIdentity": _holder,
        "osImage": _os_image,
        "kubeletVersion": version,
        "maxPods": expression,
        "userData": _user_data,
    }


TEXT_FIELDS: Final = frozenset({*_NAMES, *_PUBLIC_IF, *Values._RULES})  # noqa: SLF001 - the table is this module's
"""Fields with a rule."""


def _is_shared(domain: str) -> bool:
    """Return whether a domain under a public one belongs to Kubernetes or Karpenter, and is not a chosen name."""
    return domain in public.SHARED_DOMAINS or any(key.startswith(f"{domain}/") for key in public.KEYS)
