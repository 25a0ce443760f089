"""Checks a speedscope file against speedscope's own schema (speedscope.schema.json, from the npm package speedscope, MIT licence), and that
indices and sums are right. Prints for each profile its name and its weight by stack as JSON.
"""

import json
import pathlib
import sys

import jsonschema


def main(path):
    file = json.load(open(path))
    jsonschema.validate(file, json.load(open(pathlib.Path(__file__).with_name("speedscope.schema.json"))))
    frames = file["shared"]["frames"]
    result = []
    for profile in file["profiles"]:
        samples, weights = profile["samples"], profile["weights"]
        assert len(samples) == len(weights) and sum(weights) == profile["endValue"] - profile["startValue"]
        stacks = {}
        for stack, weight in zip(samples, weights):
            assert all(0 <= frame < len(frames) for frame in stack)
            name = ";".join(frames[frame]["name"] for frame in stack)
            count, sum_of_weights = stacks.get(name, (0, 0))
            stacks[name] = (count + 1, sum_of_weights + weight)
        result.append({"name": profile["name"], "unit": profile["unit"], "stacks": stacks})
    json.dump(result, sys.stdout)


main(sys.argv[1])
