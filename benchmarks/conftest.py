"""After the timings, the figures that count: ratios on the same work, and CPU seconds."""

from collections import defaultdict


def pytest_terminal_summary(terminalreporter, config):
    session = getattr(config, "_benchmarksession", None)
    groups = defaultdict(dict)
    for bench in session.benchmarks if session else []:
        name = bench.name.partition("[")[2].rstrip("]").split("-")[0] or bench.name
        groups[bench.group][name] = bench
    for group, benches in groups.items():
        if {"on_arrays", "literal_loop"} <= set(benches):
            ratio = benches["literal_loop"].stats.median / benches["on_arrays"].stats.median
            terminalreporter.write_line(f"{group}: {ratio:.1f} times faster than the literal loop")
        for bench in benches.values():
            if "of_ideal" in bench.extra_info:
                terminalreporter.write_line(
                    f"{bench.name}: {bench.extra_info['of_ideal']:.3f} of the ideal time, "
                    f"{bench.extra_info['megabytes']:.0f} MB"
                )
            if "cpu_seconds" in bench.extra_info:
                seconds = bench.extra_info["cpu_seconds"]
                terminalreporter.write_line(f"{bench.name}: {seconds:.3f} s of CPU")
