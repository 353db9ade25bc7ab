"""A cluster of many nodes under the traffic of many tenants, without one: arithmetic and queues.

    python benchmarks/scaling_simulation.py [--nodes 4,32,256,1024] [--entries 1e9,1e10]

The arithmetic takes what benchmarks/scaling_size.py measured for an entry. The simulation sends
calls of tenants, some of whom are a thousand times as busy as others, to the node of their shard,
where they wait for a core; it knows no network and no disk. Shards are placed as Citus does it
(round robin), or by what they cost, as its rebalancer does with a cost function; "split" has
tenants that are busier than a quarter of a node taken as several.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import random
import zlib
from collections.abc import Iterator, Sequence
from statistics import quantiles

# Measured: bytes of an entry's rows and indexes, of its units in the search index, of a vector.
ENTRY, ENTRY_INDEX = 808, 286
UNITS, UNITS_INDEX = 2222, 606
VECTOR = 910 + 117 * 10  # of 384 halfs, with its place in an HNSW index
CORES = 16
# Milliseconds of the server's processor a call, and how often each is called in a turn.
CALLS = {"append": (0.95, 2), "read": (1.04, 1), "put": (1.0, 3), "recall": (8.93, 0.3)}


def traffic(tenants: int, chance: random.Random) -> list[float]:
    """Return each tenant's share of the calls, as by Zipf: the first has a hundredth."""
    shares = [1 / (place + 10) for place in range(tenants)]
    total = sum(shares)
    chance.shuffle(shares)
    return [share / total for share in shares]


def split(shares: Sequence[float], largest: float) -> list[float]:
    """Return the shares where a tenant that is busier than this is several: one a team, say."""
    return [
        share / parts
        for share in shares
        for parts in (max(1, math.ceil(share / largest)),)
        for _ in range(parts)
    ]


def shard_of(tenant: int, shards: int) -> int:
    return zlib.crc32(f"tenant {tenant}".encode()) * shards >> 32


def loads(shares: Sequence[float], shards: int) -> list[float]:
    """Return the share of the calls that each shard gets."""
    found = [0.0] * shards
    for tenant, share in enumerate(shares):
        found[shard_of(tenant, shards)] += share
    return found


def round_robin(load: Sequence[float], nodes: int) -> list[int]:
    return [shard % nodes for shard in range(len(load))]


def by_cost(load: Sequence[float], nodes: int) -> list[int]:
    """Give the heaviest shard that is left to the node that has least."""
    placed = [0] * len(load)
    heap = [(0.0, node) for node in range(nodes)]
    for shard in sorted(range(len(load)), key=lambda shard: -load[shard]):
        held, node = heapq.heappop(heap)
        placed[shard] = node
        heapq.heappush(heap, (held + load[shard], node))
    return placed


def calls(rate: float, seconds: float, chance: random.Random) -> Iterator[tuple[float, float]]:
    """Yield when each call comes, and the milliseconds that it takes."""
    kinds, weights = zip(*((cost, often) for cost, often in CALLS.values()), strict=True)
    now = 0.0
    while (now := now + chance.expovariate(rate)) < seconds:
        (cost,) = chance.choices(kinds, weights)
        yield now, chance.expovariate(1 / cost)


def node_latencies(rate: float, seconds: float, seed: int) -> list[float]:
    """Return the milliseconds of the calls of one node: waiting for a core, and work."""
    chance = random.Random(seed)
    cores = [0.0] * CORES
    taken = []
    for now, cost in calls(rate, seconds, chance):
        free = heapq.heappop(cores)
        done = max(now, free) + cost / 1e3
        heapq.heappush(cores, done)
        taken.append((done - now) * 1e3)
    return taken


def simulate(nodes: int, busy: float, *, tenants: int, per_node: int) -> None:
    """Print how evenly nodes are loaded, and what the busiest one's callers wait."""
    whole = traffic(tenants, random.Random(1))
    parts = split(whole, 0.25 / nodes)
    mean_cost = sum(c * n for c, n in CALLS.values()) / sum(n for _, n in CALLS.values())
    rate = busy * CORES * 1e3 / mean_cost  # calls a second of a node that has an even share
    for name, place, shares in (
        ("round robin", round_robin, whole),
        ("by cost", by_cost, whole),
        ("cost, split", by_cost, parts),
    ):
        load = loads(shares, nodes * per_node)
        held = [0.0] * nodes
        for shard, node in enumerate(place(load, nodes)):
            held[node] += load[shard]
        worst = max(held) * nodes
        row = f"{nodes:>6} {name:>12} {busy:>6.0%} {worst:>8.2f}x {max(shares) * nodes:>9.2f}x"
        if worst * busy >= 1:
            print(f"{row}   overloaded")
            continue
        even = quantiles(node_latencies(rate, 20, 3), n=100)
        most = quantiles(node_latencies(rate * worst, 20, 3), n=100)
        print(f"{row} {even[49]:>8.1f} {even[98]:>8.1f} {most[49]:>9.1f} {most[98]:>8.1f}")


def arithmetic(entries: float) -> None:
    """Print what so many entries take."""
    rows, index = (ENTRY + UNITS) * entries, (ENTRY_INDEX + UNITS_INDEX) * entries
    vectors = VECTOR * 2 * entries  # about two units an entry
    for kind, size, hot in (
        ("words", rows + index, index),
        ("vectors", rows + index + vectors, index + vectors / 2),
    ):
        # What is written and read now: a tenth of the threads, and the upper levels of all indexes.
        memory = hot / 10
        nodes = max(size / 4e12, memory / 96e9)
        print(
            f"{entries:>8.0e} {kind:>8} {size / 1e12:>8.2f} {hot / 1e12:>8.2f} "
            f"{memory / 1e9:>9.0f} {nodes:>7.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", default="4,32,256,1024")
    parser.add_argument("--entries", default="1e8,1e9,1e10,1e11")
    parser.add_argument("--tenants", type=int, default=200_000)
    parser.add_argument("--shards-per-node", type=int, default=8)
    options = parser.parse_args()
    print(" entries    index       TB  index TB  memory GB   nodes (4 TB, 96 GB of cache)")
    for entries in map(float, options.entries.split(",")):
        arithmetic(entries)
    print(f"\n{options.tenants} tenants, {options.shards_per_node} shards a node, {CORES} cores")
    print(" nodes    placement   busy  busiest  largest t.  even p50      p99 busiest p50      p99")
    sizes = map(int, options.nodes.split(","))
    for nodes, busy in itertools.product(sizes, (0.3, 0.6)):
        simulate(nodes, busy, tenants=options.tenants, per_node=options.shards_per_node)


if __name__ == "__main__":
    main()
