"""What the SDKs do when they meet a fault: the exception, the attempts that the proxy
sees, and that the answer comes once the fault is over.

What they are known to do stands in `faults_seen.json`, from which docs/faults.md has its
tables. `tests/sdk/run --write-faults` writes both anew.
"""

import json
import os

import pytest

import fault_cases as faults

WRITE = os.environ.get("LOOMREC_SDK_WRITE_FAULTS") == "1"


@pytest.mark.parametrize("sdk", faults.PROGRAMS)
def test_each_fault_is_met_as_it_is_known_to_be(sdk, loomrec, upstream, tmp_path):
    plain, always, once = faults.walk(loomrec, upstream, sdk, tmp_path)
    seen = faults.noted(plain, always)
    if WRITE:
        _write(sdk, seen)
    known = _known()[sdk]
    assert list(known) == list(seen), "run tests/sdk/run --write-faults"
    for case in faults.CASES:
        did, expected = dict(seen[case.name]), dict(known[case.name])
        # Times are this machine's.
        del did["ms"], expected["ms"]
        assert did == expected, f"{case.name}: {always[case.name]}"
        assert always[case.name]["then"].get("got") == plain[case.ask], f"{case.name}: no recovery"
    for name, met in once.items():
        answer = plain[name.rsplit(" ", 1)[1]]
        if seen[name]["attempts"] > 1:
            assert (met.get("got"), met["attempts"]) == (answer, 2), f"{name}: its own retry gets no answer"
        else:
            assert met["attempts"] == 1, f"{name}: it tries again"
            assert "got" in met or met["then"].get("got") == answer, f"{name}: the next call gets no answer"


def test_the_document_tells_what_was_seen():
    if WRITE:
        pytest.skip("it is being written")
    text = faults.DOCUMENT.read_text(encoding="utf-8")
    assert faults.in_document(faults.render(_known())) == text, "run tests/sdk/run --write-faults"


def _known() -> dict:
    return json.loads(faults.SEEN.read_text(encoding="utf-8"))


def _write(sdk: str, seen: dict) -> None:
    known = _known() if faults.SEEN.exists() else {}
    known[sdk] = seen
    known = {name: known[name] for name in faults.PROGRAMS if name in known}
    lines = [f'  {json.dumps(name)}: {{\n' + ",\n".join(
        f"    {json.dumps(case, ensure_ascii=False)}: {json.dumps(did, ensure_ascii=False)}"
        for case, did in cases.items()) + "\n  }" for name, cases in known.items()]
    faults.SEEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    if len(known) == len(faults.PROGRAMS) and faults.DOCUMENT.exists():
        faults.DOCUMENT.write_text(faults.in_document(faults.render(known)), encoding="utf-8")
