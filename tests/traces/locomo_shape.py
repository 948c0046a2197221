"""A small file in the shape of LoCoMo's; two people, their sessions and all else are invented."""

import hashlib
import json

SAMPLE = {
    "sample_id": "conv-7",
    "conversation": {
        "speaker_a": "Ines",
        "speaker_b": "Tomasz",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ines", "dia_id": "D1:1", "text": "I adopted a greyhound, Bruno!"},
            {"speaker": "Tomasz", "dia_id": "D1:2", "text": "Lovely! I started beekeeping."},
            {"speaker": "Ines", "dia_id": "D1:3", "text": "Bees? I am allergic to stings."},
        ],
        "session_2_date_time": "9:00 am on 2 June, 2023",
        "session_3_date_time": "12:09 am on 13 June, 2023",
        "session_3": [
            {"speaker": "Tomasz", "dia_id": "D3:1", "text": "First honey harvest: six jars."},
            {"speaker": "Ines", "dia_id": "D3:2", "text": "Bruno won a race on Saturday."},
        ],
    },
    "observation": {
        "session_3_observation": {
            "Tomasz": [["Tomasz harvested six jars of honey.", "D3:1"]],
            "Ines": [["Ines's greyhound won a race.", ["D3:2", "D1:1"]]],
        },
        "session_1_observation": {
            "Ines": [
                ["Ines is allergic to bee stings.", "D1:3; D1:2"],
                ["Ines adopted a greyhound named Bruno.", "D1:1"],
                ["Ines likes sailing.", "D9:9"],
            ],
            "Tomasz": [["Tomasz keeps bees.", "D1:2"]],
        },
    },
    "qa": [
        {
            "question": "What is Bruno?",
            "answer": "A greyhound",
            "evidence": ["D1:1"],
            "category": 4,
        },
        {"question": "Why no bees?", "evidence": ["D1:2; D1:03"], "category": 1},
        {"question": "When was the harvest?", "evidence": ["D:3:1"], "category": 2},
        {"question": "Does Ines sail?", "evidence": ["D9:9"], "category": 3},
        {"question": "What does Ines fear?", "evidence": [], "category": 3},
        {"question": "Which cat did Ines adopt?", "evidence": ["D1:1"], "category": 5},
    ],
}


def written(path, *samples):
    """Write samples, and return the file's hash."""
    content = json.dumps(samples or [SAMPLE]).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()
