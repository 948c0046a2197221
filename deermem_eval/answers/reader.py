"""The reader: a deterministic, extractive baseline that answers from the request alone. No model.

It finds the remembered sentence that covers the question best, words weighed by how rare they are in the
memory, and takes the span that the question asks for; where no sentence covers enough of the question,
it abstains. It knows no synonyms: on paraphrase it fails, and its answers say nothing of any model.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

ABSTENTION = "INSUFFICIENT"
COVER_REQUIRED = 0.6
"""Share of the question's weight that a sentence must cover; below it the reader abstains."""
COMPARABLE = 0.8
"""A sentence of the same fact with this share of the best cover counts as well; the latest wins."""

_MONTHS = "January February March April May June July August September October November December"
_WEEKDAY = r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
_DATE = rf"\b(?:the )?\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTHS.replace(' ', '|')})\b"
_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty thirty forty fifty"
)
_NUMBER = rf"(?:[€$]?\b\d[\d.,:]*\d\b|\b\d\b|\b(?:{_NUMBER_WORDS.replace(' ', '|')})\b)"
_UNCOUNTED_WORDS = """
a an and are as at be been by can could currently date did do does for from go had has have he her his
how i if in into is it its kept long many me moment much my now nowadays of on or our present she so
still than that the their them then there these they this those to today up us user was we were what
when where which while who whose why will with would yes no answer you your day days week weeks month
months far weekday time city name called first passed ago take after until between went gone
"""
_UNCOUNTED = frozenset(_UNCOUNTED_WORDS.split())
"""Words of a question that a sentence need not hold."""
_OPENERS = frozenset(("we", "got", "as", "from"))
_DENIAL = re.compile(r"\b(?:not|no|never|nor|neither|wrong|mistaken)\b|n't\b", re.IGNORECASE)
_YES_NO = re.compile(
    r"(?:is|are|am|was|were|do|does|did|has|have|had|should|may|can|could|will)\b", re.IGNORECASE
)
_ELAPSED = re.compile(
    r"how many (day|week|month)s\b.*\b(?:ago|after|between|from|passed|until|lay)\b"
)
_PLACE = re.compile(r"\b(?:in|at|behind|under|on|near|above|beside|inside|by)\s+(?:[^,.;:!?()]+)")
_TRAILING = re.compile(r"\s+(?:now|nowadays|these days|at present|currently|so far|by now)$")


@dataclass(frozen=True)
class _Sentence:
    text: str
    fact: int
    said_on: date | None
    stems: frozenset[str]


def read_answer(memory: str, question: str, asked_on: str = "") -> str:
    """Answer a question from a rendered memory.

    Parameters
    ----------
    memory : str
        As it stands in a request: facts, each under a line `[id]`.
    question : str
    asked_on : str
        `2026/03/21 (Sat) 11:30`, or empty.

    Returns
    -------
    str
        A span of the memory, a span of time, YES, NO, or INSUFFICIENT.
    """
    sentences = _sentences(memory)
    weights = _weights(sentences, question)
    covers = {one: _cover(one.stems, weights) for one in sentences}
    best = max(sentences, key=lambda one: covers[one], default=None)
    if best is None:
        return ABSTENTION
    is_elapsed = bool(_ELAPSED.search(question.lower()))
    covering = [one for one in sentences if one.fact == best.fact] if is_elapsed else [best]
    stems = frozenset(stem for one in covering for stem in one.stems)
    if _cover(stems, weights) < COVER_REQUIRED:
        return ABSTENTION
    comparable = [
        one
        for one in sentences
        if one.fact == best.fact and covers[one] >= COMPARABLE * covers[best]
    ]
    best = max(comparable, key=lambda one: (one.said_on or date.min, covers[one]))
    of_fact = [one for one in sentences if one.fact == best.fact]
    return _span(best, of_fact, covers, question, _parsed_date(asked_on))


def _sentences(memory: str) -> list[_Sentence]:
    found: list[_Sentence] = []
    fact, said_on = -1, None
    for line in memory.split("\n"):
        if re.fullmatch(r"\[[^\]]+\]", line):
            fact, said_on = fact + 1, None
        elif match := re.match(r"SESSION .* AT (.*)", line):
            said_on = _parsed_date(match[1])
        else:
            text = re.sub(r"^[A-Z]+: ", "", line)
            for part in re.split(r"(?<=[.!?])\s+", text):
                if part.strip():
                    found.append(_Sentence(part, fact, said_on, frozenset(_stems(part))))
    return found


def _stems(text: str) -> list[str]:
    words = re.findall(r"[^\W_]+", re.sub(r"'s\b", "", text.lower()))
    return [re.sub(r"(?:ing|ed|es|s|e)$", "", word) if len(word) > 4 else word for word in words]


def _weights(sentences: Sequence[_Sentence], question: str) -> dict[str, float]:
    """Weigh the question's words: the fewer facts hold one, the more it counts."""
    facts: dict[int, set[str]] = {}
    for one in sentences:
        facts.setdefault(one.fact, set()).update(one.stems)
    uncounted = {stem for word in _UNCOUNTED for stem in _stems(word)}
    asked = dict.fromkeys(stem for stem in _stems(question) if stem not in uncounted)
    return {
        stem: math.log(1 + len(facts) / (0.5 + sum(stem in held for held in facts.values())))
        for stem in asked
    }


def _cover(stems: Iterable[str], weights: Mapping[str, float]) -> float:
    total = sum(weights.values())
    return sum(weights.get(stem, 0.0) for stem in stems) / total if total else 0.0


def _span(
    best: _Sentence,
    of_fact: Sequence[_Sentence],
    covers: Mapping[_Sentence, float],
    question: str,
    asked_on: date | None,
) -> str:
    """Take from a sentence what the question asks for; where its kind is not found, a rest of it."""
    asked = question.lower()
    if "yes or no" in asked or _YES_NO.match(asked):
        said = of_fact if best.said_on is None else [best]
        text = " ".join(one.text for one in said).removeprefix("No, ")
        return "NO" if len(_DENIAL.findall(text)) % 2 else "YES"
    choice = re.search(r",\s*(the [^,]+?) or (the [^,?]+)\?", question)
    if choice:
        return _first_named(best.text, [choice[1], choice[2]])
    elapsed = _ELAPSED.search(asked)
    if elapsed and (answer := _elapsed(elapsed[1], best, of_fact, covers, asked_on)):
        return answer
    for words, pick in _KINDS:
        if re.search(words, asked) and (answer := pick(best.text, question)):
            return answer
    return _rest(best.text, question)


def _number(text: str, question: str) -> str:
    """Return the number that stands nearest the thing counted; with its unit where no thing is counted."""
    asked = question.lower()
    counted = re.search(r"how many (?:\w+ )?(\w+)|which (?:\w+ )?(\w+)", asked)
    wanted = set(_stems(" ".join(filter(None, counted.groups())))) if counted else set()
    found = list(re.finditer(rf"{_NUMBER}(?:\s*(?:[ap]m|%|°C|[a-z]+))?", text))
    if not found:
        return ""
    places = [word.start() for word in re.finditer(r"\w+", text) if set(_stems(word[0])) & wanted]
    near = min(
        found, key=lambda one: min((abs(one.start() - place) for place in places), default=0)
    )
    bare = re.match(_NUMBER, near[0])
    is_bare = re.search(r"how many|\bpage\b|\bline\b", asked)
    return (bare[0] if bare and is_bare else near[0]).strip()


def _match(pattern: str) -> Callable[[str, str], str]:
    def pick(text: str, question: str) -> str:
        found = re.search(pattern, text)
        return found[0] if found else ""

    return pick


def _name(text: str, question: str) -> str:
    """Return the first capitalised words that the question does not hold."""
    names = re.findall(r"\b[^\W\d_a-z][\w'-]+(?:\s+[^\W\d_a-z][\w'-]+)*", text)
    for name in names:
        is_opener = name.split()[0].lower() in _UNCOUNTED | _OPENERS
        if name.lower() not in question.lower() and not is_opener:
            return str(name)
    return ""


def _place(text: str, question: str) -> str:
    held = set(_stems(question))
    for match in reversed(list(_PLACE.finditer(text))):
        phrase = _TRAILING.sub(
            "", re.split(r"\b(?:and|because|where|with|waiting)\b", match[0])[0].strip()
        )
        if set(_stems(phrase)[1:]) - held - {"the", "a", "my", "our"}:
            return phrase
    return ""


_KINDS: tuple[tuple[str, Callable[[str, str], str]], ...] = (
    (r"\bwhat time\b", _match(r"\b\d{1,2}(?::\d\d)?\s*(?:[ap]\.?m\b|o'clock)")),
    (r"\bweekday\b|\bwhich day of the week\b", _match(_WEEKDAY)),
    (r"^where\b", _place),
    (r"\bwhen\b|\bdate\b|\bon which day\b", _match(_DATE)),
    (r"\bhow (?:many|much|long|old|far|tall)\b|\brating\b|\bpage\b|\bline\b", _number),
    (r"\bwho\b|\bcalled\b|\bname\b|\bcity\b", _name),
)


def _first_named(text: str, options: Sequence[str]) -> str:
    """Return the option that the sentence names first."""
    places = {option: text.lower().find(option.removeprefix("the ").lower()) for option in options}
    named = [option for option in options if places[option] >= 0]
    return min(named, key=lambda option: places[option], default=options[0])


def _elapsed(
    unit: str,
    best: _Sentence,
    of_fact: Sequence[_Sentence],
    covers: Mapping[_Sentence, float],
    asked_on: date | None,
) -> str:
    """Count days, weeks or months between the two best covered dates, or from one until today."""
    dated = [(one, found) for one in of_fact if (found := _date_in(one))]
    dated.sort(key=lambda pair: covers[pair[0]], reverse=True)
    ends = [found for _, found in dated[:2]]
    if len(ends) < 2 and asked_on:
        ends.append(asked_on)
    if len(ends) < 2:
        return ""
    days = abs((ends[0] - ends[1]).days)
    count = {"day": days, "week": round(days / 7), "month": round(days / 30.44)}[unit]
    return f"{count} {unit}s"


def _date_in(one: _Sentence) -> date | None:
    match = re.search(_DATE, one.text)
    if not match or not one.said_on:
        return None
    day = int(re.search(r"\d+", match[0])[0])  # type: ignore[index]
    month = 1 + _MONTHS.split().index(match[0].split()[-1])
    try:
        found = date(one.said_on.year, month, day)
        return found if found <= one.said_on else found.replace(year=found.year - 1)
    except ValueError:
        return None


def _rest(text: str, question: str) -> str:
    """Return the longest run of words that the question does not hold."""
    held = set(_stems(question)) | {"i", "my", "is", "was", "the", "a", "it"}
    runs: list[list[str]] = [[]]
    for word in text.split():
        if set(_stems(word)) <= held or word[-1] in ",;:":
            runs[-1] += [word] if not set(_stems(word)) <= held else []
            runs.append([])
        else:
            runs[-1].append(word)
    lengths = [len(run) for run in runs]
    return " ".join(runs[lengths.index(max(lengths))]).strip(" .,;:!?") or ABSTENTION


def _parsed_date(text: str) -> date | None:
    match = re.match(r"(\d{4})/(\d\d)/(\d\d)", text)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None
