"""A valid object of each of Karpenter's kinds, with most of its fields."""

from __future__ import annotations

from typing import Any

import yaml

NODE_POOL: dict[str, Any] = yaml.safe_load("""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
  labels: {team: a}
  annotations: {example.com/note: x y}
spec:
  weight: 50
  limits: {cpu: '400', memory: 1600Gi, nodes: 20}
  template:
    metadata: {labels: {team: a}, annotations: {example.com/a: b}}
    spec:
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i, m7i], minValues: 2}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['3']}
      - {key: kubernetes.io/arch, operator: Exists}
      taints: [{key: dedicated, value: ci, effect: NoSchedule}]
      startupTaints:
      - {key: cilium, effect: NoExecute}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfter: 720h
      terminationGracePeriod: 24h
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 30s
    budgets:
    - {nodes: 10%}
    - {nodes: '0', schedule: 0 9 * * mon-fri, duration: 8h, reasons: [Drifted]}
""")

NODE_CLAIM: dict[str, Any] = yaml.safe_load("""
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: general-abcde}
spec:
  requirements:
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [large]}
  - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ['9']}
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i, m7i], minValues: 2}
  resources: {requests: {cpu: '1', memory: 1Gi}}
  taints: [{key: dedicated, value: ci, effect: NoSchedule}]
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  expireAfter: Never
  terminationGracePeriod: 1h
""")

NODE_OVERLAY: dict[str, Any] = yaml.safe_load("""
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: discount}
spec:
  requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}
  - {key: karpenter.k8s.aws/instance-size, operator: NotIn, values: [metal]}
  - {key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['2']}
  priceAdjustment: -10%
  capacity: {example.com/device: '2'}
  weight: 10
""")

EC2_KIND: dict[str, Any] = yaml.safe_load("""
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiFamily: AL2023
  amiSelectorTerms: [{alias: al2023@latest}]
  role: karpenter-node
  subnetSelectorTerms:
  - {tags: {karpenter.sh/discovery: prod}}
  - {id: subnet-0123abcd}
  securityGroupSelectorTerms:
  - {name: nodes}
  - {tags: {a: b}}
  - {id: sg-0123abcd}
  capacityReservationSelectorTerms: [{id: cr-0123abcd}]
  associatePublicIPAddress: false
  detailedMonitoring: true
  tags: {team: a}
  userData: |
    #!/bin/sh
    echo hi
  metadataOptions: {httpEndpoint: enabled, httpTokens: required, httpPutResponseHopLimit: 2}
  kubelet:
    maxPods: 110
    podsPerCore: 10
    systemReserved: {cpu: 100m, memory: 100Mi}
    kubeReserved: {cpu: 200m, pid: '1000'}
    evictionHard: {memory.available: 5%, nodefs.available: 10%}
    evictionSoft: {memory.available: 10%}
    evictionSoftGracePeriod: {memory.available: 2m}
    evictionMaxPodGracePeriod: 60
    imageGCHighThresholdPercent: 85
    imageGCLowThresholdPercent: 80
    cpuCFSQuota: true
    clusterDNS: [10.0.0.10]
  blockDeviceMappings:
  - deviceName: /dev/xvda
    rootVolume: true
    ebs: {volumeSize: 100Gi, volumeType: gp3, iops: 3000, encrypted: true}
""")

KWOK_NODE_CLASS: dict[str, Any] = yaml.safe_load("""
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
spec: {nodeRegistrationDelay: 30s}
""")

CAPACITY_BUFFER: dict[str, Any] = yaml.safe_load("""
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare, namespace: default}
spec:
  scalableRef: {apiGroup: apps, kind: Deployment, name: web}
  replicas: 2
""")

OBJECTS = (NODE_POOL, NODE_CLAIM, NODE_OVERLAY, EC2_KIND, KWOK_NODE_CLASS, CAPACITY_BUFFER)

DEPLOYMENT: dict[str, Any] = yaml.safe_load("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {karpenter.sh/do-not-disrupt: 'true'}}
    spec:
      containers:
      - name: main
        image: web:1
        resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {memory: 1Gi}}
        env: [{name: A, value: '1'}]
        ports:
        - {containerPort: 80}
      nodeSelector: {team: a}
      tolerations: [{key: dedicated, operator: Equal, value: ci, effect: NoSchedule}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
      terminationGracePeriodSeconds: 30
""")

PDB: dict[str, Any] = yaml.safe_load("""
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec:
  maxUnavailable: 1
  selector: {matchLabels: {app: web}}
""")
