"""Studies of drift: the sample with texts, the historical facts, and the reference with texts."""

import pytest

from deermem_eval.cases.longmemeval import read_rows, record_of
from deermem_eval.drift import DriftStudy, drift_catalogue, load_drift_study
from deermem_eval.files import sha256_hex
from deermem_eval.protocol import load_protocol


@pytest.fixture(scope="session")
def sample_study():
    return load_drift_study(load_protocol("sample"))


@pytest.fixture(scope="session")
def facts_study(historical):
    return load_drift_study(historical)


@pytest.fixture(scope="session")
def reference_study(reference):
    path = reference / "longmemeval" / "evidence_subset_extended.json"
    rows = read_rows(path, sha256_hex(path.read_bytes()))
    return DriftStudy(
        load_protocol(reference / "protocol"),
        lambda details: tuple(record_of(row, details) for row in rows),
        None,
    )


@pytest.fixture(scope="session")
def sample_catalogue(sample_study):
    return drift_catalogue(sample_study.protocol, sample_study.records_of)
