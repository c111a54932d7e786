"""What is really called under a test's name, and what pytest has loaded, is seen and told."""

from pathlib import Path

import pytest

from tests.verification.arena import APP, DOUBLE, TESTS, arena

FIXED = APP.replace(" + 1", "")
WRAPPER = (
    "import functools\n\n\ndef quiet(test):\n    @functools.wraps(test)\n    def run():\n        pass\n\n"
    "    return run\n"
)

#: ways to put another function in a test's place: the files, and where what is really called comes from
REBOUND: dict[str, tuple[dict[str, str | bytes | None], tuple[str, str]]] = {
    "by an import": (
        {"test_app.py": f"{TESTS}\n\nfrom other import test_double\n", "other.py": "def test_double():\n    pass\n"},
        ("other.py", "test_double"),
    ),
    "by the module's own names": (
        {"test_app.py": f"{TESTS}\n\nglobals()['test_double'] = lambda: None\n"},
        ("test_app.py", "<lambda>"),
    ),
    "by a decorator that names what it never calls": (
        {
            "other.py": WRAPPER,
            "test_app.py": "from other import quiet\n" + TESTS.replace("def test_d", "@quiet\ndef test_d"),
        },
        ("other.py", "quiet.<locals>.run"),
    ),
    "by a plugin of a conftest": (
        {
            "conftest.py": "pytest_plugins = ['other']\n",
            "other.py": "def nothing():\n    pass\n\n\ndef pytest_collection_modifyitems(items):\n"
            "    for item in items:\n        item.obj = nothing\n",
        },
        ("other.py", "nothing"),
    ),
    "by new code for the function": (
        {
            "app.py": f"import sys\n{APP}",
            "test_app.py": f"{TESTS}\n\ntest_double.__code__ = (lambda: None).__code__\n",
        },
        ("test_app.py", "<lambda>"),
    ),
}


@pytest.mark.parametrize("way", REBOUND)
async def test_what_is_really_called_shows(way: str, tmp_path: Path) -> None:
    """Whether that is right is not for the trial to say; it is seen where the code comes from."""
    files, place = REBOUND[way]
    async with arena(tmp_path) as here:
        run = await here.run(files)

    case = run.cases[DOUBLE]
    assert (case.origin, case.name) == place


async def test_what_is_loaded_shows(tmp_path: Path) -> None:
    """Plugins, conftests, settings, and modules of the checkout, each with its file."""
    async with arena(tmp_path) as here:
        run = await here.run(
            {
                "conftest.py": "pytest_plugins = ['extra']\n",
                "extra.py": "import json\n",
                "sub/conftest.py": "",
                "app.py": FIXED,
            }
        )

    assert run.session is not None
    assert run.session.conftests == ("conftest.py",)
    assert run.session.plugins["extra"] == "extra.py"
    assert run.session.modules == {
        "app": "app.py",
        "conftest": "conftest.py",
        "extra": "extra.py",
        "test_app": "test_app.py",
    }
    assert (run.session.rootdir, run.session.inipath) == (".", "")
