"""`tutorial check` of 1,000 blocks and 5,000 tests, compared with its floor: `ast.parse` of the same test files.

Run: `python -m bench.tutorial_check`. One citation in 100 is stale, to include the search for the nearest block.
"""

import ast
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from supervisor.e2e.tutorial.check import Report, check

BLOCKS, TESTS, FILES, ROUNDS = 1_000, 5_000, 100, 3
WORDS = ("deploy", "list", "logs", "remove", "copy", "watch", "report", "retry", "pause", "resume", "export", "check")


def block(number: int) -> str:
    word, other = WORDS[number % 12], WORDS[number // 12 % 12]
    return (
        f"# {word} the service number {number}, then {other} it again so that the change is seen everywhere\n"
        f"tool {word} service-{number} --region eu-{number % 7} --label '{other} {number // 3}' \\\n  --wait\n"
        f"# the {other} step may take {number % 60} seconds"
    )


def script() -> str:
    sections = (
        f"## SECTION {start}\n\n" + "\n\n".join(map(block, range(start, start + 25)))
        for start in range(0, BLOCKS, 25)
    )
    return "#!/usr/bin/env bash\nset -euo pipefail\n\n" + "\n\n".join(sections) + "\n"


def test(number: int) -> str:
    text = block(number % BLOCKS)
    cited = text.replace("so that", "and then") if number % 100 == 0 else text
    quoted = "\n".join(f"    {line}" for line in cited.split("\n"))
    return f'''
@pytest.mark.release
def test_number_{number}(e2e: E2e) -> None:
    e2e.write_tutorial_block(r"""
{quoted}
    """)
    result = e2e.run("tool {WORDS[number % 12]} service-{number % BLOCKS} --wait", comment="as the block has it")
    expect(result).to_succeed()
    expect(result.stdout).to_contain("service-{number}")
    listed = json.loads(e2e.run("tool list --json", comment="what is there now").stdout)
    assert [row["name"] for row in listed["rows"] if row["ready"]] == ["service-{number}"], f"not ready: {{listed}}"
'''


def write(root: Path) -> None:
    (root / "tutorial.sh").write_text(script())
    (root / "tests").mkdir()
    per_file = TESTS // FILES
    for file in range(FILES):
        tests = "".join(map(test, range(file * per_file, (file + 1) * per_file)))
        (root / "tests" / f"test_{file:03}.py").write_text(f"import json\n\nimport pytest\n\n{tests}")


def fastest[T](work: Callable[[], T]) -> tuple[float, T]:
    best, result = float("inf"), work()
    for _ in range(ROUNDS):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def parse_only(root: Path) -> int:
    return sum(len(ast.parse(path.read_text()).body) for path in sorted(root.glob("tests/*.py")))


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        write(root)
        floor, _ = fastest(lambda: parse_only(root))
        took, report = fastest(lambda: whole_check(root))
    print(f"{len(report.tutorial.blocks)} blocks, {len(report.tests)} tests, {len(report.stale)} stale citations")
    print(f"tutorial check {took:.2f} s; floor, ast.parse of the same files, {floor:.2f} s; {took / floor:.1f} times")


def whole_check(root: Path) -> Report:
    return check(root / "tutorial.sh", [root / "tests"], today=date(2030, 1, 1))


if __name__ == "__main__":
    main()
