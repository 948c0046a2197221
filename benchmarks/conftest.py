"""After the timings, the figures that count: ratios on the same work, and CPU seconds."""

from collections import defaultdict

FAST_WAYS = ("on_arrays", "on_columns", "on_columns_with_scores")


def pytest_terminal_summary(terminalreporter, config):
    session = getattr(config, "_benchmarksession", None)
    groups = defaultdict(dict)
    for bench in session.benchmarks if session else []:
        name = bench.name.partition("[")[2].rstrip("]").split("-")[0] or bench.name
        groups[bench.group][name] = bench
    for group, benches in groups.items():
        for line in [*ratios(group, benches), *figures(benches)]:
            terminalreporter.write_line(line)


def ratios(group, benches):
    """Say how much faster each way is than the literal loop, and what growth costs."""
    for way in FAST_WAYS:
        if {way, "literal_loop"} <= set(benches):
            ratio = seconds(benches["literal_loop"]) / seconds(benches[way])
            yield f"{group}: {way} {ratio:.1f} times faster than the literal loop"
    grown = {
        bench.extra_info["times"]: seconds(bench)
        for bench in benches.values()
        if "times" in bench.extra_info
    }
    for times in sorted(grown):
        yield f"{group}: {times} times the work, {grown[times] / grown[1]:.2f} times the CPU"


def figures(benches):
    for bench in benches.values():
        info = bench.extra_info
        if "of_ideal" in info:
            yield (
                f"{bench.name}: {info['of_ideal']:.3f} of the ideal time, {info['megabytes']:.0f} MB"
            )
        elif "megabytes" in info:
            yield f"{bench.name}: {info['megabytes']:.0f} MB at most"
        if "events_a_second" in info:
            yield f"{bench.name}: {info['events_a_second']:,.0f} events a second and core"
        if "facts_a_second_and_core" in info:
            yield (
                f"{bench.name}: {info['facts_a_second_and_core']:,.0f} facts a second and core, "
                f"{info['wall_seconds']:.1f} s"
            )
        if "cpu_seconds" in info:
            on = f" ({info['measured_on']})" if "measured_on" in info else ""
            yield f"{bench.name}: {info['cpu_seconds']:.6f} s of CPU{on}"


def seconds(bench):
    """Return the CPU that a benchmark took, where it wrote that down; else its median time."""
    return bench.extra_info.get("cpu_seconds", bench.stats.median)
