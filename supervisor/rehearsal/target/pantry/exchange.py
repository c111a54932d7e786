"""In and out: CSV for spreadsheets, JSON for another pantry, and a catalogue of barcodes."""

import csv
import io
import json
import os

from pantry import Refusal

COLUMNS = ["name", "quantity", "unit", "shelf", "best_before", "tags"]


def to_csv(items):
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    for item in items:
        rows.writerow([*(item[column] for column in COLUMNS[:-1]), " ".join(item["tags"])])
    return out.getvalue().rstrip("\n")


def to_json(items):
    return json.dumps(items, indent=1)


def from_json(path):
    try:
        with open(path) as file:
            items = json.load(file)
        return [{column: item[column] for column in COLUMNS} for item in items]
    except OSError as error:
        raise Refusal(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise Refusal(f"{path} is not an export of a pantry; nothing was imported") from None


def look_up(barcode):
    """The name that the catalogue has for a barcode."""
    catalogue = os.environ.get("PANTRY_CATALOGUE")
    if not catalogue:
        raise Refusal("no catalogue of barcodes; name its file in PANTRY_CATALOGUE")
    with open(catalogue) as file:
        for code, name in csv.reader(file):
            if code == barcode:
                return name
    raise Refusal(f"{barcode} is not in the catalogue")
