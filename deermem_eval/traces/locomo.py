"""LoCoMo: ten long conversations, the facts observed in them, and questions with their evidence.

Source: Maharana et al., ACL 2024 (arXiv 2402.17753), github snap-research/locomo, CC BY-NC 4.0. The
texts stay in the cache; figures computed from them may leave it.

A fact is there from the last of the turns that it was observed in. A question rests on every fact of its
evidence turns; one with an evidence turn of which no fact was observed is left out and counted.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex, write_file
from deermem_eval.protocol.download import download
from deermem_eval.protocol.fetch import FetchedFile, is_there, refuse_other_hash, sole_fetcher
from deermem_eval.reading import parse_json, read_bytes
from deermem_eval.traces.lives import Life, Noted, Question, Turn

LOCOMO_NAME = "locomo"
FILE_NAME = "locomo10.json"
REVISION = "3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376"
URL = f"https://raw.githubusercontent.com/snap-research/locomo/{REVISION}/data/{FILE_NAME}"
SHA256 = "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"
BYTES = 2_805_274
KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""Of questions; kind 5 is adversarial, has no answer in the conversation, and is left out."""
MINUTES_A_TURN = 1
"""An assumption: sessions are dated to the minute, turns are not."""
CATEGORY = "context"
_TURN_ID = re.compile(r"D:?(\d+):0*(\d+)")


def locomo_path(cache_dir: Path) -> Path:
    """Return where the file lies once it is fetched."""
    return cache_dir / LOCOMO_NAME / FILE_NAME


def fetch_locomo(
    cache_dir: Path,
    *,
    upstream: Path | None = None,
    url: str = URL,
    sha256: str = SHA256,
    say: Callable[[str], None] = lambda message: None,
) -> FetchedFile:
    """Bring the file into `cache_dir/locomo`, checked by its SHA-256.

    Parameters
    ----------
    cache_dir : Path
    upstream : Path, optional
        A folder that holds the file, instead of its repository.
    url, sha256 : str
    say : callable
        Is told what is about to happen.

    Raises
    ------
    DeermemEvalError
        It cannot be had or stored, or is another file; nothing was kept.
    """
    path = locomo_path(cache_dir)
    remedy = f"name a folder with the pinned {FILE_NAME} with --upstream"
    with sole_fetcher(cache_dir):
        if is_there(path, sha256):
            return FetchedFile(path, "there already")
        if upstream is not None:
            content, origin = read_bytes(upstream / FILE_NAME, "LoCoMo"), f"copied from {upstream}"
        else:
            say(f"asking {url} (2.8 MB, CC BY-NC 4.0)")
            content, origin = download(url, limit=BYTES, remedy=remedy), f"from {url}"
        refuse_other_hash(content, sha256, origin, remedy)
        write_file(path, content)
        return FetchedFile(path, origin)


def read_locomo(path: Path, *, sha256: str = SHA256) -> tuple[Life, ...]:
    """Read the lives of the pinned file.

    Raises
    ------
    DeermemEvalError
        The file is not there, is another one, or is malformed.
    """
    if not path.exists():
        raise DeermemEvalError(
            f"{path} does not exist; run `deermem-eval fetch {LOCOMO_NAME}` first"
        )
    content = read_bytes(path, "LoCoMo")
    if sha256_hex(content) != sha256:
        raise DeermemEvalError(
            f"{path} is not the pinned LoCoMo file (SHA-256 {sha256_hex(content)[:12]}, expected "
            f"{sha256[:12]}); run `deermem-eval fetch {LOCOMO_NAME}` again"
        )
    try:
        return tuple(_life(sample) for sample in parse_json(content, path, "LoCoMo"))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DeermemEvalError(
            f"{path}: {type(error).__name__}: {error}; it is malformed"
        ) from error


def _life(sample: dict[str, Any]) -> Life:
    turns: list[Turn] = []
    place: dict[tuple[int, int], int] = {}
    for began, said in _sessions(sample["conversation"]):
        for i, turn in enumerate(said):
            seconds = (began + timedelta(minutes=MINUTES_A_TURN * i)).timestamp()
            (id_,) = _turn_ids(turn["dia_id"])
            place[id_] = len(turns)
            turns.append(Turn(max(seconds, turns[-1].seconds if turns else seconds), turn["text"]))
    noted = [
        (max(place[one] for one in sources), text, sources)
        for text, source in _observations(sample["observation"])
        if (sources := [one for one in _turn_ids(source) if one in place])
    ]
    noted.sort(key=lambda fact: fact[0])  # stable: facts of a turn keep the order of the file
    facts_of: dict[tuple[int, int], list[int]] = {}
    for i, (_, _, sources) in enumerate(noted):
        for one in dict.fromkeys(sources):
            facts_of.setdefault(one, []).append(i)
    questions, unanswerable = [], 0
    for asked in sample["qa"]:
        if asked["category"] not in KINDS:
            continue
        evidence = list(dict.fromkeys(_turn_ids(asked.get("evidence", []))))
        if evidence and all(one in facts_of for one in evidence):
            rests_on = dict.fromkeys(fact for one in evidence for fact in facts_of[one])
            questions.append(Question(KINDS[asked["category"]], tuple(rests_on)))
        else:
            unanswerable += 1
    return Life(
        name=sample["sample_id"],
        turns=tuple(turns),
        facts=tuple(
            Noted(f"fact_{i:03d}", text, CATEGORY, turn) for i, (turn, text, _) in enumerate(noted)
        ),
        questions=tuple(questions),
        unanswerable=unanswerable,
    )


def _sessions(conversation: dict[str, Any]) -> Iterator[tuple[datetime, list[Any]]]:
    number = 1
    while f"session_{number}_date_time" in conversation:
        said = conversation.get(f"session_{number}", [])
        if said:
            date = conversation[f"session_{number}_date_time"]
            began = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            yield began, said
        number += 1


def _observations(observation: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for session in sorted(observation, key=lambda name: int(name.split("_")[1])):
        for by_speaker in observation[session].values():
            yield from by_speaker


def _turn_ids(source: Any) -> list[tuple[int, int]]:
    """Return the turns that a source names; some of them hold several, or a slip of the pen."""
    texts = source if isinstance(source, list) else [source]
    return [(int(a), int(b)) for text in texts for a, b in _TURN_ID.findall(text)]
