"""The OpenMP regions with the most time of a report, which is read as JSON from standard input."""
import json
import sys
from pathlib import Path

SHOWN = 5

regions = json.load(sys.stdin)["openmp"]["regions"]
print(f"  {sum(region['executions'] for region in regions)} executions of {len(regions)} regions")
for region in regions[:SHOWN]:
    place = f"{Path(region['file'] or region['module']).name}:{region['line']}"
    print(f"  {region['executions']:8} of {(region['function'] or '?').split('(')[0]} ({place}), {region['threads']} threads")
