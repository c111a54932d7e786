"""Recipes: text files with one ingredient a line, such as `flour 0.2 kg`."""

from pantry import Refusal, items


def read(path, guests=1):
    """The ingredients of the recipe, for that many guests."""
    try:
        with open(path) as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise Refusal(f"cannot read {path}: {error.strerror}") from None
    ingredients = []
    for line in filter(str.strip, lines):
        name, quantity, unit = line.split()
        ingredients.append({"name": name, "quantity": float(quantity), "unit": unit})
    return ingredients


def cook(stock, ingredients):
    """Take the ingredients out of the stock: all of them, or none."""
    lacking = items.missing(stock, {each["name"]: (each["quantity"], each["unit"]) for each in ingredients})
    if lacking:
        raise Refusal("missing: " + ", ".join(each["name"] for each in lacking))
    for each in ingredients:
        items.use(stock, each["name"], each["quantity"])
