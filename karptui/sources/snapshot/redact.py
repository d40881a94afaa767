"""Names into pseudonyms, by the field that holds them: the same in every recording made with the same key.

Each text field has a rule (``_RULES``), and only the values that every cluster may have stay (``public``). A field that
is not in the tables below is left out, and a text without a rule becomes a pseudonym. What stays and why is a table in
docs/snapshots.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address, ip_network
from typing import Any, Final

import msgspec

from karptui.decode.kinds import OTHER_PROVIDERS, Kind, kind_of, may_hold_nodeclasses
from karptui.karpenter.labels import DISRUPTION_COST, HOSTNAME, NODEPOOL, POD_DELETION_COST, WELL_KNOWN
from karptui.karpenter.scheduler_config import SpreadError, read_document
from karptui.kube.generated_names import ORIGIN_LABELS, TEMPLATE_HASH
from karptui.kube.yaml_reader import YamlError, load_documents
from karptui.sources.snapshot import public
from karptui.sources.snapshot.messages import Fragments
from karptui.sources.snapshot.pseudonyms import ORIGIN, VALUE, Pseudonyms
from karptui.sources.snapshot.public import is_public_domain, is_public_key


def _words(text: str) -> frozenset[str]:
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
_NAMED: Final[Mapping[str, str]] = {
    "containers": "Container",
    "initContainers": "Container",
    "containerStatuses": "Container",
    "initContainerStatuses": "Container",
    "volumes": "Volume",
    "nodeClassRef": NODE_CLASS,
    "podTemplateRef": "PodTemplate",
    "claimRef": "PersistentVolumeClaim",
    "drivers": "Driver",
}
"""What ``name`` names in the parts of these fields, where no ``kind`` beside it says."""
_REFERENCES: Final = frozenset(
    {"ownerReferences", "involvedObject", "regarding", "claimRef", "nodeClassRef", "scalableRef", "podTemplateRef"}
)
_LABELS: Final = frozenset({"labels", "matchLabels", "nodeSelector", "tags"})
_AMOUNTS: Final = frozenset(
    {"capacity", "allocatable", "requests", "limits", "overhead", "allocatedResources", "kubeReserved", "evictionHard"}
    | {"systemReserved", "evictionThreshold", "evictionSoft", "evictionSoftGracePeriod", "volumeAttachmentLimits"}
    | {"podFixed", "capacityOverride", "used", "hard"}
)
_NAME_LABELS: Final[Mapping[str, str]] = {
    NODEPOOL: "NodePool",
    HOSTNAME: "Node",
    "metadata.name": "Node",
    "kubernetes.io/metadata.name": "Namespace",
    "statefulset.kubernetes.io/pod-name": "Pod",
    "batch.kubernetes.io/job-name": "Job",
    "job-name": "Job",
    "karpenter.k8s.aws/ec2nodeclass": NODE_CLASS,
    "eks.amazonaws.com/nodeclass": NODE_CLASS,
}
"""Labels and fields whose values name objects."""
_PARTS: Final = _words(
    # Of every object, and of pods and their templates:
    "metadata spec status ownerReferences generation deletionGracePeriodSeconds controller blockOwnerDeletion "
    "observedGeneration template jobTemplate containers initContainers volumes resources ports containerPort hostPort "
    "restartPolicyRules affinity nodeAffinity podAffinity podAntiAffinity podAffinityTerm preference weight "
    "requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution "
    "nodeSelectorTerms matchExpressions matchFields labelSelector namespaceSelector topologySpreadConstraints maxSkew "
    "minDomains tolerations tolerationSeconds hostNetwork hostPID hostIPC overhead priority "
    "terminationGracePeriodSeconds schedulingGates resourceClaims persistentVolumeClaim ephemeral volumeClaimTemplate "
    "claims readOnly conditions containerStatuses initContainerStatuses ready restartCount state lastState waiting "
    "running terminated exitCode activeDeadlineSeconds resize podIPs "
    # Of owners and PodDisruptionBudgets:
    "selector matchLabelExpressions replicas parallelism completions backoffLimit suspend updateStrategy rollingUpdate "
    "desiredNumberScheduled currentNumberScheduled numberReady numberAvailable updatedNumberScheduled readyReplicas "
    "availableReplicas unavailableReplicas updatedReplicas active succeeded failed currentHealthy desiredHealthy "
    "disruptionsAllowed expectedPods "
    # Of nodes, NodePools, NodeClaims and NodeClasses:
    "taints startupTaints unschedulable addresses nodeInfo disruption budgets requirements minValues nodeClassRef "
    "kubelet podsPerCore imageGCHighThresholdPercent imageGCLowThresholdPercent cpuCFSQuota evictionMaxPodGracePeriod "
    "amiSelectorTerms subnetSelectorTerms securityGroupSelectorTerms capacityReservationSelectorTerms "
    "placementGroupSelector placementGroup blockDeviceMappings ebs rootVolume encrypted deleteOnTermination iops "
    "throughput networkInterfaces networkCardIndex deviceIndex connectionTracking cpuOptions coreCount threadsPerCore "
    "enclaveOptions enabled detailedMonitoring associatePublicIPAddress subnets amis deprecated securityGroups "
    "capacityReservations interruptible resourceRequests "
    # Of volumes:
    "accessModes claimRef required csi awsElasticBlockStore gcePersistentDisk azureDisk azureFile cinder local "
    "hostPath nfs portworxVolume vsphereVolume allowedTopologies allowVolumeExpansion drivers count "
    # Of events, PriorityClasses and CapacityBuffers:
    "involvedObject regarding source series deprecatedSource deprecatedCount value globalDefault podTemplateRef "
    "scalableRef percentage"
)
"""Fields that hold other fields, numbers or booleans; a text in one of them becomes a pseudonym."""
_OS_IMAGE: Final = re.compile(
    r"Amazon Linux 20\d\d|Amazon Linux 2|Bottlerocket OS|Windows Server 20\d\d|Ubuntu \d\d\.\d\d"
)
_COMPARISONS: Final = frozenset({"Gt", "Lt", "Gte", "Lte"})
_LONG_INTEGER: Final = re.compile(r"-?\d{1,19}")
_LABEL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
"""What Kubernetes takes for a label's value; what it does not take stays something that it does not."""
_ANNOTATION: Final = re.compile(r"|true|false|memory|shares-\d{1,3}")
_COST: Final = re.compile(
    r"[+-]?(\d{1,10}(\.\d{0,9})?|\.\d{1,9})([eE][+-]?\d{1,3})?|[+-]?(inf(inity)?|nan)", re.IGNORECASE
)
_IN_MESSAGE: Final = re.compile(r"\b(nodeclaim/|node/|NodeClaim )([a-z0-9][a-z0-9.-]*[a-z0-9])(?=[\s,]|$)")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_AWS_ID: Final = re.compile(r"(i|ami|subnet|sg|vpc|eni|vol|lt|cr|pg|snap|key)-([0-9a-f]{8,17})")
_ALIAS: Final = re.compile(r"(al2|al2023|bottlerocket|windows\d{4})@(latest|v?\d+(\.\d+){0,2})")
_DEVICE: Final = re.compile(r"/dev/(sd|xvd)[a-z]{1,2}\d?|/dev/nvme\d{1,2}n\d")
_VERSION: Final = re.compile(r"v?\d{1,3}(\.\d{1,4}){1,2}")
_API_VERSION: Final = re.compile(r"v\d((alpha|beta)\d)?")
_SCHEME: Final = re.compile(r"(aws|azure|gce|kwok|oci|alicloud|ibm|openstack|vsphere):///?")
_XID: Final = re.compile(r"XID\d{1,3}")
"""By which the AWS provider's repair policies choose."""
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
_OF_SCHEDULER: Final = _words("defaultconstraints podtopologyspread maxskew whenunsatisfiable topologykey mindomains")
"""Fields of the scheduler's configuration, in lower case."""
_POLICY_WORDS: Final = frozenset({"Respect", "Ignore", "Strict", "BestEffort", "true", "false", ""})
_MATCHES_ALL: Final = frozenset({"", ".*", "^.*$", ".+"})
_UNSPECIFIED: Final = frozenset({"0.0.0.0", "::", "127.0.0.1", "::1"})  # noqa: S104 - a host port's wildcard, compared
_CONTROLLER: Final = "Karpenter's Deployment"
_ELSEWHERE: Final = "another object"
_IN_METRICS: Final = ("cpu", "memory", "pods", "nodes", "ephemeral_storage")
"""Resources as Karpenter's metrics spell them; extended ones are left out."""


class Redactor:
    """Replaces what identifies a cluster and its owner."""

    def __init__(self, key: bytes) -> None:
        """Set up.

        Args:
            key: makes the pseudonyms; who does not have it cannot try out names.
        """
        self._pseudonyms = Pseudonyms(key)
        self._is_learning = False
        self._keys: dict[str, str] = {}
        self._compared: set[str] = set()
        self._reasons: set[str] = set()
        self._messages: dict[str, str] = {}
        self._fragments = Fragments(self._in_message, self._pseudonyms.opaque)

    def redact(self, objects: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the objects with pseudonyms; all objects of a recording must be given at once."""
        given: list[dict[str, Any]] = self.redact_document({"objects": list(objects)})["objects"]
        return given

    def redact_document(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a recording with pseudonyms."""
        self._is_learning = True
        self._document(document)
        self._is_learning = False
        self._pseudonyms.settle()
        return self._document(document)

    def named(self, kind: str, name: str) -> str | None:
        """Return the pseudonym of what is called so; of the kind, or of any where the kind is empty."""
        if not kind:
            return self._pseudonyms.anywhere(name)
        return self._pseudonyms.of(kind, name) if self._pseudonyms.knows(kind, name) else None

    # The document

    def _document(self, document: Mapping[str, Any]) -> dict[str, Any]:
        made = {name: document[name] for name in ("karptui", "disruption") if name in document}
        if "name" in document:
            made["name"] = "redacted"
        if public.INSTANT.fullmatch(str(document.get("capturedAt", ""))):
            made["capturedAt"] = document["capturedAt"]
        for field, rule in self._OF_DOCUMENT.items():
            if document.get(field) is not None:
                made[field] = rule(self, document[field])
        made["objects"] = [self._object(one) for one in document.get("objects", ())]
        if document.get("repairPolicies") is not None:  # their expressions name the reasons of the objects
            made["repairPolicies"] = [self._policy(one) for one in document["repairPolicies"]]
        return made

    def _settings(self, settings: Mapping[str, str]) -> dict[str, str]:
        return {name: self._setting(name, str(value)) for name, value in settings.items()}

    def _setting(self, name: str, value: str) -> str:
        if name == "CLUSTER_NAME":
            return "cluster"
        if name in ("FEATURE_GATES", "AWS_FEATURE_GATES"):
            return ",".join(filter(None, map(self._gate, value.split(","))))
        if name == "SCHEDULER_CONFIG":
            return self._scheduler_config(value)
        is_public = value in _POLICY_WORDS or public.QUANTITY.fullmatch(value) or public.DURATION.fullmatch(value)
        return value if is_public else self._opaque(value)

    def _gate(self, text: str) -> str:
        name, equals, value = text.partition("=")
        gate = name.strip() if name.strip() in public.GATES else self._word_for(name) if name.strip() else ""
        return f"{gate}{equals}{value if value.strip() in ('true', 'false') else self._opaque(value)}" if gate else ""

    def _scheduler_config(self, value: str) -> str:
        try:
            documents: list[Any] = [read_document(value)]
        except SpreadError:  # what Karpenter refuses holds names all the same
            try:
                documents = load_documents(value.encode("utf-8", "replace"))
            except YamlError:
                return self._opaque(value)
        made = [self._constraints(one) for one in documents]
        return msgspec.json.encode(made[0] if len(made) == 1 else made).decode()

    def _constraints(self, value: Any) -> Any:
        """Return a scheduler's configuration; its fields may be written in any case."""
        if isinstance(value, Mapping):
            known = {"defaultconstraints", "podtopologyspread", "maxskew", "whenunsatisfiable", "topologykey"}
            return {
                name: self._key(part)
                if name.lower() == "topologykey" and isinstance(part, str)
                else self._constraints(part)
                for name, part in value.items()
                if name.lower() in known or name in ("apiVersion", "kind", "mindomains", "minDomains")
            }
        if isinstance(value, list | tuple):
            return [self._constraints(part) for part in value]
        return self._word(value) if isinstance(value, str) else value

    def _version(self, version: str) -> str:
        """Return a version without what a fork adds to it."""
        found = _VERSION.match(version)
        return found[0] if found is not None else ""

    def _instance_types(self, types: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [self._instance_type(one) for one in types]

    def _instance_type(self, one: Mapping[str, Any]) -> dict[str, Any]:
        made = {
            name: self._any(part, name, "")
            for name, part in one.items()
            if name in ("requirements", "capacity", "volumeAttachmentLimits")
        }
        if "overhead" in one:
            made["overhead"] = self._overhead(one["overhead"])
        if "offerings" in one:
            made["offerings"] = [self._offering(part) for part in one["offerings"]]
        return {"name": self._name("InstanceType", str(one["name"])), **made}

    def _overhead(self, overhead: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._any(part, name, "") for name, part in overhead.items() if name in _AMOUNTS}

    def _offering(self, offering: Mapping[str, Any]) -> dict[str, Any]:
        made = {
            name: self._any(part, name, "")
            for name, part in offering.items()
            if name in ("requirements", "capacityOverride") or not isinstance(part, str | list | dict)
        }
        if isinstance(overhead := offering.get("overheadOverride"), Mapping):
            made["overheadOverride"] = self._overhead(overhead)
        return made

    def _policy(self, policy: Mapping[str, Any]) -> dict[str, Any]:
        """Return a repair policy; its expression becomes the reasons in the recording that it matches."""
        made: dict[str, Any] = {name: part for name, part in policy.items() if isinstance(part, int)}
        for name in ("conditionType", "conditionStatus", "action"):
            if name in policy:
                made[name] = self._word(policy[name])
        for name in ("tolerationDuration", "terminationGracePeriod"):
            if name in policy:
                made[name] = self._duration(policy[name])
        if (regex := policy.get("reasonRegex")) is not None:
            made["reasonRegex"] = regex if regex in _MATCHES_ALL else self._expression_for(str(regex))
        return made

    def _expression_for(self, regex: str) -> str:
        found = sorted({self._reason(one) for one in self._reasons if re.search(regex, one)})
        return f"^({'|'.join(map(re.escape, found or [self._word_for(regex)]))})$"

    def _reboots(self, history: Mapping[str, Any]) -> dict[str, Any]:
        return {self._name("NodeClaim", name): [*map(self._instant, times)] for name, times in history.items()}

    def _unread(self, kinds: Iterable[str]) -> list[str]:
        return [one for one in kinds if one in {str(kind) for kind in Kind}]

    def _offerings(self, offerings: Mapping[str, Any]) -> dict[str, Any]:
        types = {
            self._name("InstanceType", name): [
                [self._name("Zone", zone), self._word_of_label(capacity_type), *rest]
                for zone, capacity_type, *rest in of_type
            ]
            for name, of_type in offerings["types"].items()
        }
        return {"source": "Karpenter's metrics", "at": self._instant(offerings["at"]), "types": types}

    def _usage(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "at": self._instant(usage["at"]),
            "windowNs": usage["windowNs"],
            "nodes": {self._name("Node", name): used for name, used in usage["nodes"].items()},
            "pods": {self._object_key("Pod", key): used for key, used in usage["pods"].items()},
        }

    # Evidence

    def _evidence(self, evidence: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is known beside the objects without sentences, and without the names of who answered."""
        made: dict[str, Any] = {}
        for field in ("controllerStatus", "metricsStatus"):
            if field in evidence:
                made[field] = _without_sentence(evidence[field])
        if "factStatuses" in evidence:
            made["factStatuses"] = {kind: _without_sentence(one) for kind, one in evidence["factStatuses"].items()}
        controller = evidence.get("controller", {})
        if controller:
            made["controller"] = {
                "title": _CONTROLLER,
                "namespace": self._name("Namespace", controller.get("namespace", "")),
                "version": self._version(controller.get("version", "")),
                "unknown": dict.fromkeys(controller.get("unknown", ()), _ELSEWHERE),
                "fromElsewhere": [_ELSEWHERE for _ in controller.get("fromElsewhere", ())],
            }
        if "settingOrigins" in evidence:
            title = controller.get("title", "")
            origins = evidence["settingOrigins"].items()
            made["settingOrigins"] = {name: _CONTROLLER if one == title else "another source" for name, one in origins}
        if "othersLabelled" in evidence:
            made["othersLabelled"] = [self._titled(one) for one in evidence["othersLabelled"]]
        if "metrics" in evidence:
            made["metrics"] = self._metrics(evidence["metrics"])
        if "facts" in evidence:
            made["facts"] = self._facts(evidence["facts"])
        return made

    def _metrics(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        made = {**metrics, "endpoint": _CONTROLLER, "version": self._version(metrics.get("version", ""))}
        for field in ("cpuCores", "memoryBytes"):
            if field in metrics:
                made[field] = {self._name("InstanceType", name): one for name, one in metrics[field].items()}
        for field in ("pools", "podsByPool"):
            if field in metrics:
                made[field] = {self._name("NodePool", name): _of_pool(one) for name, one in metrics[field].items()}
        return made

    def _facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return AWS's answers: what they say of a region is public, and IDs of the account are not."""
        made = {**facts}
        for field in ("subnets", "reservations"):
            if field in facts:
                of_account = [{**one, "id": self._id(one["id"])} for one in facts[field]["value"]]
                made[field] = {**facts[field], "value": of_account}
        return made

    def _titled(self, title: str) -> str:
        """Return ``Deployment shop/web`` with pseudonyms."""
        kind, _, key = title.partition(" ")
        return f"{self._word(kind)} {self._object_key(kind, key)}"

    def _object_key(self, kind: str, key: str) -> str:
        namespace, _, name = key.rpartition("/")
        return f"{self._name('Namespace', namespace)}/{self._name(kind, name)}"

    # Objects

    def _object(self, one: Mapping[str, Any]) -> dict[str, Any]:
        api_version, kind = str(one.get("apiVersion", "")), str(one.get("kind", ""))
        is_foreign = kind_of(api_version, kind) is Kind.NODECLASS and kind not in ("EC2NodeClass", "NodeClass")
        made: dict[str, Any] = {}
        for field, value in one.items():
            if field == "metadata":
                made[field] = self._any(value, field, _class_of(kind))
            elif is_foreign and field == "spec":
                made[field] = {}
            elif is_foreign and field == "status":
                made[field] = self._any({"conditions": _mapping(value).get("conditions", [])}, field, "")
            else:
                made |= self._mapping({field: value}, "", "")
        if self._is_learning and kind == "Pod":
            self._learn_volumes(one)
        if self._is_learning:
            self._pseudonyms.learn_object(kind, str(_mapping(one.get("metadata")).get("name", "")))
        return made

    def _learn_volumes(self, pod: Mapping[str, Any]) -> None:
        for volume in (pod.get("spec") or {}).get("volumes") or ():
            if volume.get("ephemeral") is not None:
                name = str((pod.get("metadata") or {}).get("name", ""))
                self._pseudonyms.learn_ephemeral(name, str(volume.get("name", "")))

    def _any(self, value: Any, field: str, kind: str) -> Any:
        """Return a value with pseudonyms.

        Args:
            value: what is there.
            field: the field it stands in, itself or as part of a list.
            kind: what ``name`` in it names, empty where nothing says.
        """
        if isinstance(value, Mapping):
            return self._mapping(value, field, kind)
        if isinstance(value, list | tuple):
            return [self._any(part, field, kind) for part in value]
        return self._text(field, value) if isinstance(value, str) else value

    def _mapping(self, value: Mapping[str, Any], field: str, kind: str) -> dict[str, Any]:
        is_plain = all(isinstance(part, str | int | float | None) for part in value.values())
        if is_plain and (field in _LABELS or (field == "selector" and "matchLabels" not in value)):
            return {self._key(key): self._label(key, part) for key, part in value.items()}
        if is_plain and (field in _AMOUNTS or (field == "resources" and not _is_requests(value))):
            rename = self._driver if field == "volumeAttachmentLimits" else self._key
            return {rename(key): self._amount(part) for key, part in value.items()}
        if field == "annotations":
            return {self._key(key): self._annotation(key, part) for key, part in value.items()}
        kind = kind or _NAMED.get(field, "")
        if field in _REFERENCES and isinstance(value.get("kind"), str):
            kind = _class_of(value["kind"])
        label = value.get("key")
        if value.get("operator") in _COMPARISONS:
            self._compared.add(str(label))
        made: dict[str, Any] = {}
        for name, part in value.items():
            if name == "name" and isinstance(part, str):
                made[name] = self._called(part, kind)
            elif isinstance(label, str) and name in ("key", "value", "values"):
                made[name] = self._of_label(label, name, part)
            elif name in _PARTS or name in _FIELDS or name in _AMOUNTS or name in _LABELS or name == "annotations":
                made[name] = self._any(part, name, "")
        return made

    def _called(self, name: str, kind: str) -> str:
        if kind == "Driver":
            return self._driver(name)
        if kind:
            return self._name(kind, name)
        return name if self._is_learning or name == "*" else self.named("", name) or self._opaque(name)

    def _of_label(self, key: str, field: str, value: Any) -> Any:
        if field == "key":
            return self._key(key)
        if isinstance(value, list | tuple):
            return [self._label(key, one) for one in value]
        return self._label(key, value)

    def _text(self, field: str, value: str) -> str:
        if not value:
            return value
        if field in _NAMES:
            return self._name(_NAMES[field], value)
        rule = self._RULES.get(field)
        return rule(self, value) if rule is not None else self._opaque(value)

    # Keys, labels and amounts

    def _key(self, key: str) -> str:
        """Return the pseudonym of a label's key, a resource or the like; well-known ones stay, and public domains."""
        if is_public_key(key):
            return key
        made = self._keys.get(key)
        if made is None:
            domain, slash, _ = key.partition("/")
            prefix = domain if is_public_domain(domain) and _is_shared(domain) else self._domain(domain)
            word = self._pseudonyms.word(key)
            name = f"k-{word}" if _LABEL.fullmatch(key.rpartition("/")[2]) else f"malformed {word}"
            made = self._keys[key] = f"{prefix}/{name}" if slash else name
        return made

    def _domain(self, domain: str) -> str:
        """Return what stands for a domain; a part of a public one stays a part of it, as some are restricted."""
        parent = next((one for one in public.DOMAINS if domain.endswith(f".{one}")), "example")
        return f"{self._pseudonyms.word(domain)}.{parent}"

    def _label(self, key: str, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or value in ("", "*"):
            return value
        kind = _NAME_LABELS.get(key) or public.kind_of_label(key)
        if kind == "ID":
            return self._id(value)
        if kind:
            return self._name(kind, value)
        if key in WELL_KNOWN or (is_public_key(key) and key.startswith(("beta.kubernetes.io/", "eks.amazonaws.com/"))):
            return self._word_of_label(value)
        if key in self._compared and _LONG_INTEGER.fullmatch(value):
            return value
        if self._is_learning and key == TEMPLATE_HASH:
            self._pseudonyms.learn_hash(value)
        made = self._name(ORIGIN if key in ORIGIN_LABELS else VALUE, value)
        return made if _LABEL.fullmatch(value) or self._is_learning else f"{made}-"

    def _word_of_label(self, value: str) -> str:
        return value if public.is_public_label_value(value) else self._name(VALUE, value)

    def _amount(self, value: Any) -> Any:
        is_amount = not isinstance(value, str) or public.QUANTITY.fullmatch(value) or public.DURATION.fullmatch(value)
        return value if is_amount else self._expression(str(value))

    def _annotation(self, key: str, value: Any) -> Any:
        if not isinstance(value, str) or public.INTEGER.fullmatch(value):
            return value
        rule = _COST if key in (POD_DELETION_COST, DISRUPTION_COST) else _ANNOTATION
        is_time = public.DURATION.fullmatch(value) or public.INSTANT.fullmatch(value)
        return value if is_time or rule.fullmatch(value) else self._opaque(value)

    # Texts by field

    def _name(self, kind: str, name: str) -> str:
        if not name:
            return name
        if self._is_learning:
            self._pseudonyms.learn(kind, name)
            return name
        return self._pseudonyms.of(kind, name)

    def _opaque(self, text: str) -> str:
        return self._pseudonyms.opaque(text)

    def _word_for(self, text: str) -> str:
        return f"X{self._pseudonyms.word(text)}"

    def _word(self, value: str) -> str:
        """Return a word of Kubernetes, Karpenter or AWS; what stands for any other."""
        if value in public.vocabulary():
            return value
        return f"{self._word_for(value)}{NODE_CLASS if value.endswith(NODE_CLASS) else ''}"

    def _reason(self, value: str) -> str:
        if self._is_learning:
            self._reasons.add(value)
        xids = _XID.findall(value)
        return f"{self._word_for(value)}{''.join(xids)}" if xids else self._word(value)

    def _instant(self, value: str) -> str:
        return value if public.INSTANT.fullmatch(value) else self._opaque(value)

    def _duration(self, value: str) -> str:
        return value if public.DURATION.fullmatch(value) else self._opaque(value)

    def _quantity(self, value: str) -> str:
        return value if public.QUANTITY.fullmatch(value) else self._opaque(value)

    def _schedule(self, value: str) -> str:
        return value if public.is_schedule(value) else self._opaque(value)

    def _uid(self, value: str) -> str:
        return value if _UUID.fullmatch(value) else self._name("Uid", value)

    def _id(self, value: str) -> str:
        """Return what stands for an ID of AWS, in its form."""
        found = _AWS_ID.fullmatch(value)
        if found is None:
            return self._opaque(value)
        return f"{found[1]}-{self._pseudonyms.digest(value).hex()[: len(found[2])]}"

    def _provider_id(self, value: str) -> str:
        """Return a provider ID with the zone that it names; of others than AWS's only the provider stays."""
        scheme = _SCHEME.match(value)
        if scheme is None:
            return self._opaque(value)
        parts = value[scheme.end() :].lstrip("/").split("/")
        if scheme[1] == "aws" and len(parts) == 2:
            return f"aws:///{self._name('Zone', parts[0])}/{self._id(parts[1])}"
        return f"{scheme[1]}:///{self._opaque(value)}"

    def _address(self, value: str) -> str:
        """Return an address; a name of DNS is that of the node, or nobody's."""
        plain, slash, bits = value.partition("/")
        bare = plain.strip("[]")
        if bare in _UNSPECIFIED:
            return value
        try:
            version = ip_address(bare).version if not slash else ip_network(value, strict=False).version
        except ValueError:
            return self.named("Node", value) or self._pseudonyms.opaque(value, "host")
        data = self._pseudonyms.digest(bare)
        made = f"10.{data[0]}.{data[1]}.{data[2]}" if version == 4 else f"fd00::{data[:2].hex()}:{data[2:4].hex()}"
        return f"{made}{slash}{bits}"

    def _api_version(self, value: str) -> str:
        group, slash, version = value.rpartition("/")
        known = version if _API_VERSION.fullmatch(version) else "v1"
        return f"{self._group(group)}{slash}{known}"

    def _group(self, group: str) -> str:
        if not group or group in public.GROUPS or group in OTHER_PROVIDERS or group in _API_GROUPS:
            return group
        word = self._pseudonyms.word(group)
        return f"karpenter.{word}.example" if may_hold_nodeclasses(group) else f"{word}.example"

    def _driver(self, value: str) -> str:
        return value if value in public.DRIVERS else self._pseudonyms.opaque(value, "driver")

    def _component(self, value: str) -> str:
        """Return a component that publishes events; that one of Karpenter or a scheduler did so decides."""
        if value in public.COMPONENTS:
            return value
        kind = next((one for one in ("karpenter", "scheduler") if one in value), "component")
        return f"{kind}-{self._pseudonyms.word(value)}"

    def _generate_name(self, value: str) -> str:
        stem = value.rstrip("-")
        return f"{self.named('', stem) or self._opaque(stem)}{value[len(stem) :]}"

    def _alias(self, value: str) -> str:
        return value if _ALIAS.fullmatch(value) else self._opaque(value)

    def _device(self, value: str) -> str:
        return value if _DEVICE.fullmatch(value) else self._opaque(value)

    def _os_image(self, value: str) -> str:
        found = _OS_IMAGE.match(value)
        return found[0] if found is not None else self._opaque(value)

    def _expression(self, value: str) -> str:
        """Return a CEL expression as it is if it consists of Karpenter's variables, numbers and operators."""
        is_known = _EXPRESSION.fullmatch(value) and all(map(public.is_part_of_type, _QUOTED.findall(value)))
        return value if is_known else self._opaque(value)

    def _user_data(self, value: str) -> str:
        """Return the lines that say what the kubelet is started with, and of these its settings and their values."""
        lines = (line for line in value.splitlines() if _KUBELET_LINE.search(line))
        return _WORD.sub(lambda word: word[0] if _KUBELET_WORD.fullmatch(word[0]) else "x", "\n".join(lines))

    def _label_word(self, value: str) -> str:
        return value if public.is_public_label_value(value) else self._opaque(value)

    def _message(self, value: str) -> str:
        if self._is_learning:
            # NodeClaims and nodes that are gone are in messages alone.
            for kind, name in _IN_MESSAGE.findall(value):
                self._pseudonyms.learn("Node" if kind == "node/" else "NodeClaim", name)
            return value
        made = self._messages.get(value)
        if made is None:
            made = self._messages[value] = self._fragments.of(value)
        return made

    def _in_message(self, word: str) -> str | None:
        """Return what stands for a word of a message that names something in the recording."""
        if _AWS_ID.fullmatch(word):
            return self._id(word)
        namespace, slash, name = word.partition("/")
        if slash and (place := self.named("Namespace", namespace)) is not None:
            made = self.named("Pod", name) or self.named("PodDisruptionBudget", name) or self.named("", name)
            return None if made is None else f"{place}/{made}"
        if word in self._keys or (is_public_key(word) and "/" in word):
            return self._key(word)
        return self.named("", word)

    _OF_DOCUMENT: Final[Mapping[str, Callable[[Redactor, Any], Any]]] = {
        "settings": _settings,
        "karpenterVersion": _version,
        "instanceTypes": _instance_types,
        "rebootHistory": _reboots,
        "unread": _unread,
        "offerings": _offerings,
        "evidence": _evidence,
        "usage": _usage,
    }
    _RULES: Final[Mapping[str, Callable[[Redactor, str], str]]] = {
        **dict.fromkeys(
            _words(
                "creationTimestamp deletionTimestamp lastTransitionTime firstTimestamp lastTimestamp eventTime "
                "lastObservedTime deprecatedFirstTimestamp deprecatedLastTimestamp startTime startedAt finishedAt "
                "completionTime lastPodEventTime lastScheduleTime timeAdded endTime"
            ),
            _instant,
        ),
        **dict.fromkeys(
            _words(
                "duration consolidateAfter expireAfter terminationGracePeriod tcpEstablishedTimeout udpTimeout "
                "udpStreamTimeout"
            ),
            _duration,
        ),
        **dict.fromkeys(
            _words("nodes minAvailable maxUnavailable maxSurge volumeSize price priceAdjustment storage cpu memory"),
            _quantity,
        ),
        **dict.fromkeys(
            _words(
                "kind type status phase operator effect restartPolicy whenUnsatisfiable nodeAffinityPolicy policy "
                "nodeTaintsPolicy consolidationPolicy accessModes protocol volumeBindingMode reasons qosClass "
                "unhealthyPodEvictionPolicy reclaimPolicy volumeMode preemptionPolicy amiFamily instanceStorePolicy "
                "concurrencyPolicy"
            ),
            _word,
        ),
        **dict.fromkeys(_words("key topologyKey topologyKeys matchLabelKeys mismatchLabelKeys finalizers"), _key),
        **dict.fromkeys(
            _words("architecture interfaceType volumeType nestedVirtualization reservationType tenancy state"),
            _label_word,
        ),
        **dict.fromkeys(_words("component reportingComponent reportingController"), _component),
        **dict.fromkeys(_words("driver provisioner"), _driver),
        **dict.fromkeys(_words("address hostIP ip"), _address),
        **dict.fromkeys(_words("id imageID"), _id),
        **dict.fromkeys(_words("message note"), _message),
        **dict.fromkeys(
            _words(
                "image role instanceProfile owner ownerID ssmParameter kmsKeyID snapshotID volumeHandle volumeID "
                "pdName nodeID"
            ),
            _opaque,
        ),
        "apiVersion": _api_version,
        "group": _group,
        "reason": _reason,
        "uid": _uid,
        "providerID": _provider_id,
        "schedule": _schedule,
        "generateName": _generate_name,
        "alias": _alias,
        "deviceName": _device,
        "osImage": _os_image,
        "kubeletVersion": _version,
        "maxPods": _expression,
        "userData": _user_data,
    }


_FIELDS: Final = frozenset({*_NAMES, *Redactor._RULES})  # noqa: SLF001 - the table is this module's
_API_GROUPS: Final = frozenset(
    {"policy", "storage.k8s.io", "scheduling.k8s.io", "autoscaling.x-k8s.io", "events.k8s.io", "karpenter.azure.com"}
    | {"karpenter.k8s.gcp", "rbac.authorization.k8s.io", "coordination.k8s.io", "kubelet.config.k8s.io"}
)


def _class_of(kind: str) -> str:
    """Return what names of a kind are kept as: NodeClasses are one kind, and a CSINode is called like its Node."""
    return NODE_CLASS if kind.endswith(NODE_CLASS) else "Node" if kind == "CSINode" else kind


def _is_shared(domain: str) -> bool:
    """Return whether a domain under a public one is Kubernetes' or Karpenter's, not a name that somebody chose."""
    return domain in public.SHARED_DOMAINS or any(key.startswith(f"{domain}/") for key in public.KEYS)


def _is_requests(value: Mapping[str, Any]) -> bool:
    return "requests" in value or "limits" in value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _of_pool(value: Any) -> Any:
    """Return a NodePool's metrics without extended resources, whose names somebody chose."""
    if not isinstance(value, Mapping):
        return value
    amounts = {
        field: {name: value[field][name] for name in _IN_METRICS if name in value[field]}
        for field in ("usage", "limit")
        if field in value
    }
    return {**value, **amounts}


def _without_sentence(status: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in status.items() if name != "sentence"}
