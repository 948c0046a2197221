"""Random lives, with many things at one time and of one confidence."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from deermem_eval.traces import build_trace

BEGINS = datetime(2026, 1, 1, tzinfo=UTC)
MOST_FACTS = 25
HOURS = (0, 0, 0, 0, 1, 24, 24, 720)
CONFIDENCES = (0.7, 0.7, 0.8, 0.8, 0.9, 0.95, 0.0, 1.0)
CATEGORIES = ("preference", "preference", "context", "correction", " Correction ")
KINDS = ("create", "create", "create", "access", "access", "confirm", "need")
STEPS = st.tuples(
    st.sampled_from(KINDS),
    st.sampled_from(HOURS),
    st.lists(st.integers(0, 10_000), min_size=1, max_size=3),
    st.sampled_from(CONFIDENCES),
    st.sampled_from(CATEGORIES),
    st.sampled_from((1, 1, 0.5)),
)
WEIGHTS = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(
    lambda pair: (min(pair) / 20, abs(pair[0] - pair[1]) / 20, (20 - max(pair)) / 20)
)


@st.composite
def traces(draw, most_facts=MOST_FACTS, most_steps=60):
    first = ("create", *draw(STEPS)[1:])
    return build_trace(
        "mara", events([first, *draw(st.lists(STEPS, max_size=most_steps))], most_facts)
    )


def events(steps, most_facts):
    time, made, found = BEGINS, [], []
    for kind, hours, picks, confidence, category, probability in steps:
        if kind == "create" and len(made) == most_facts:
            continue
        time += timedelta(hours=hours)
        event = {"time": time.isoformat(), "event": kind}
        if kind == "create":
            event |= {"fact": f"note-{len(made)}", "confidence": confidence, "category": category}
            made.append(event["fact"])
        elif kind == "need":
            event["facts"] = [made[pick % len(made)] for pick in picks]
        else:
            event["fact"] = made[picks[0] % len(made)]
            if kind == "confirm":
                event["probability"] = probability
        found.append(event)
    return found
