"""One JSON file holds the items, what to keep in stock, and the steps that led here."""

import json
import os

from pantry import Refusal

EMPTY = {"items": [], "keep": {}, "steps": []}


def path():
    return os.environ.get("PANTRY_FILE", "pantry.json")


def create():
    if os.path.exists(path()):
        raise Refusal(f"there is a pantry already: {os.path.basename(path())}")
    write(EMPTY)


def read():
    try:
        with open(path()) as file:
            return json.load(file)
    except FileNotFoundError:
        raise Refusal("no pantry here; make one with: pantry new") from None
    except ValueError:
        raise Refusal(f"{os.path.basename(path())} is not a pantry; it was left as it is") from None


def write(pantry):
    """All of it or nothing: a full disk leaves the old file in place."""
    beside = f"{os.path.splitext(path())[0]}.new"
    with open(beside, "w") as file:
        file.write(json.dumps(pantry, indent=1) + "\n")
    os.replace(beside, path())


def change(words, edit):
    """Apply `edit` to the pantry and remember, under `words`, how it was before."""
    pantry = read()
    before = json.dumps([pantry["items"], pantry["keep"]])
    said = edit(pantry)
    pantry["steps"].append({"words": words, "before": before})
    write(pantry)
    return said


def undo():
    """Take back the last step, and return its words."""
    pantry = read()
    if not pantry["steps"]:
        raise Refusal("nothing to undo")
    step = pantry["steps"][-1]
    pantry["steps"] = []
    pantry["items"], pantry["keep"] = json.loads(step["before"])
    write(pantry)
    return step["words"]
