"""Time that the what-if editor needs per key: parsing, checking, completing and changing a document.

    python benchmarks/documents.py

A NodePool with 70 requirements (about 300 lines), and a buffer of 20 documents (NodePools, a node class, workloads).
"First" is the first time in a process and includes loading schemas and rules. "Typed" is after a key in one document,
while the others are unchanged. Processor time, best of 30.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from reference import note, print_reference

from karptui.whatif.schema.complete import complete
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.schema.schema import shipped_schemas
from karptui.whatif.schema.validation import check
from karptui.whatif.yaml.splice import set_value
from karptui.whatif.yaml.tree import parse
from karptui.whatif.yaml.write import as_document

ROUNDS = 30


def pool(name: str, requirements: int) -> str:
    items = [
        {"key": f"example.com/label-{at}", "operator": "In", "values": ["a", "b", "c"], "minValues": 2}
        for at in range(requirements)
    ]
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return as_document(
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": name},
            "spec": {
                "weight": 10,
                "template": {"spec": {"nodeClassRef": ref, "requirements": items}},
                "disruption": {"consolidateAfter": "30s"},
            },
        }
    )


def deployment(name: str) -> str:
    labels = {"app": name}
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    return as_document({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec})


def best(run: Callable[[int], object]) -> float:
    times: list[float] = []
    for turn in range(ROUNDS):
        began = time.process_time()
        run(turn)
        times.append(time.process_time() - began)
    return 1000 * min(times)


def measure(name: str, text: str) -> None:
    schemas, known, path = shipped_schemas(), KnownValues(), ("spec", "weight")
    at = text.index("  weight: 10\n")
    line = text.count("\n", 0, at)
    # A longer comment each time changes the text of the document, but not its meaning.
    typed = [f"{text[:at]}  # {'x' * turn}\n{text[at:]}" for turn in range(ROUNDS)]
    unseen = [one.replace("# x", "# y") for one in typed]
    print(f"{name}, {text.count(chr(10))} lines:")
    steps: dict[str, Callable[[int], object]] = {
        "parse": lambda turn: parse(typed[turn]),
        "check": lambda turn: check(parse(unseen[turn]), schemas),
        "complete": lambda _: complete(text, line, 2, schemas, known),
        "set_value": lambda turn: set_value(text, 0, path, 20 + turn),
    }
    for step, work in steps.items():
        milliseconds = best(work)
        note(f"{step}, {name}", milliseconds / 1000)
        print(f"  {step:<9} {milliseconds:6.2f} ms")


def main() -> None:
    large = pool("large", 70)
    began = time.process_time()
    problems = check(parse(large), shipped_schemas()).problems
    print(f"first check {1000 * (time.process_time() - began):.1f} ms ({len(problems)} problems)")
    many = [*(pool(f"pool-{at}", 8) for at in range(10)), *(deployment(f"web-{at}") for at in range(10))]
    measure("one NodePool", large)
    measure("20 documents", "---\n".join(many))
    print_reference()


if __name__ == "__main__":
    main()
