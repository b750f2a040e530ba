"""Judges a file of plans, and says what is wrong with each that does not pass.

tripwright world build --scale nano --seed 7 --out worlds/nano7
python examples/judge_a_file.py examples/plans.jsonl worlds/nano7
"""

import json
import sys

import tripwright

path, folder = sys.argv[1:]
world = tripwright.load_world(folder)
passed = 0
with open(path, encoding="utf-8") as lines:
    for number, line in enumerate(lines, start=1):
        record = json.loads(line)
        verdict = tripwright.judge(record["plan"], record["query"], world, rules="strict")
        passed += verdict.final
        print(f"{number}: {'passed' if verdict.final else 'failed'}")
        for fact in verdict.failed:
            print(f"  {fact.name}: {fact.message}")
print(f"{passed} of {number} plans pass")
