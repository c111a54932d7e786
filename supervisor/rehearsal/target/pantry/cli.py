"""The command line: one function per verb, each returning what is to be printed."""

import argparse
import json
import sys
from datetime import date

from pantry import Refusal, exchange, items, recipes, render, store


def new(asked):
    store.create()
    return "an empty pantry"


def add(asked):
    def edit(pantry):
        item = items.add(
            pantry["items"], asked.name, asked.quantity, asked.unit, asked.shelf, asked.best_before, asked.tag
        )
        return f"{item['name']}: {render.amount(item)}"

    return store.change(f"add {asked.name}", edit)


def use(asked):
    def edit(pantry):
        if asked.all:
            items.use_all(pantry["items"], asked.name)
            return f"{asked.name}: all gone"
        left = items.use(pantry["items"], asked.name, asked.quantity)
        return f"{asked.name}: {render.number(left)} left"

    return store.change(f"use {asked.name}", edit)


def move(asked):
    store.change(f"move {asked.name}", lambda pantry: items.move(pantry["items"], asked.name, asked.shelf))
    return f"{asked.name} is on shelf {asked.shelf}"


def tag(asked):
    store.change(f"tag {asked.name}", lambda pantry: items.tag(pantry["items"], asked.name, asked.tags))
    return f"{asked.name} is tagged"


def untag(asked):
    store.change(f"untag {asked.name}", lambda pantry: items.untag(pantry["items"], asked.name, asked.tags))
    return f"{asked.name} is untagged"


def list_(asked):
    found = items.in_order(store.read()["items"], asked.sort)
    if asked.shelf:
        found = [item for item in found if item["shelf"] == asked.shelf]
    if asked.tag:
        found = [item for item in found if asked.tag in item["tags"]]
    if asked.json:
        return json.dumps(found, indent=1)
    return "\n".join(map(render.line, found)) or "nothing"


def show(asked):
    return render.details(items.find(store.read()["items"], asked.name))


def search(asked):
    found = items.search(store.read()["items"], asked.text)
    if not found:
        raise Refusal(f"nothing is called {asked.text}")
    return "\n".join(map(render.line, found))


def shelves(asked):
    names = [item["shelf"] for item in store.read()["items"]]
    return "\n".join(f"{name}  {names.count(name)}" for name in sorted(set(names)))


def expiring(asked):
    found = items.expiring(store.read()["items"], asked.on, asked.within)
    return "\n".join(render.expiry(item, items.days_left(item, asked.on)) for item in found) or "nothing"


def suggest(asked):
    return items.suggest(store.read()["items"], asked.on)["name"]


def keep(asked):
    def edit(pantry):
        pantry["keep"][asked.name] = [asked.quantity, asked.unit]

    store.change(f"keep {asked.name}", edit)
    return f"keeping {render.number(asked.quantity)} {asked.unit} of {asked.name}"


def shopping(asked):
    pantry = store.read()
    wanted = items.missing(pantry["items"], pantry["keep"])
    if asked.json:
        return json.dumps(wanted, indent=1)
    return render.checklist(wanted) or "nothing to buy"


def cook(asked):
    ingredients = recipes.read(asked.recipe, asked.guests)
    store.change(f"cook {asked.recipe}", lambda pantry: recipes.cook(pantry["items"], ingredients))
    return "enjoy"


def export(asked):
    write = exchange.to_csv if asked.format == "csv" else exchange.to_json
    return write(store.read()["items"])


def import_(asked):
    new_items = exchange.from_json(asked.file)

    def edit(pantry):
        if not asked.add:
            pantry["items"] = []
        for item in new_items:
            items.add(pantry["items"], **item)
        return f"{len(new_items)} imported"

    return store.change(f"import {asked.file}", edit)


def undo(asked):
    return f"undone: {store.undo()}"


def log(asked):
    return "\n".join(step["words"] for step in store.read()["steps"][-asked.limit :])


def stats(asked):
    pantry = store.read()
    dated = sum(1 for item in pantry["items"] if item["best_before"])
    return f"{len(pantry['items'])} items, {dated} with a date"


def scan(asked):
    return exchange.look_up(asked.barcode)


def parser():
    top = argparse.ArgumentParser(prog="pantry", description="Know what is in the pantry.")
    verbs = top.add_subparsers(metavar="VERB", required=True)

    def verb(does, text, *arguments, name=None):
        made = verbs.add_parser(name or does.__name__, help=text)
        made.set_defaults(does=does)
        for flags, options in arguments:
            made.add_argument(*flags, **options)

    def arg(*flags, **options):
        return flags, options

    name, quantity, unit = arg("name"), arg("quantity", type=float), arg("unit")
    today = arg("--on", type=date.fromisoformat, default=date.today(), metavar="DATE")
    as_json = arg("--json", action="store_true")
    tags = arg("--tag", action="append", default=[])
    dated = arg("--best-before", metavar="DATE")
    sort = arg("--sort", choices=["name", "quantity", "best-before"], default="name")
    verb(new, "make an empty pantry")
    verb(add, "put something in", name, quantity, unit, arg("--shelf", default="pantry"), dated, tags)
    verb(
        use,
        "take some out",
        name,
        arg("quantity", type=float, nargs="?", default=1),
        arg("--all", action="store_true"),
    )
    verb(move, "put on another shelf", name, arg("shelf"))
    verb(tag, "tag an item", name, arg("tags", nargs="+"))
    verb(untag, "take tags off", name, arg("tags", nargs="+"))
    verb(list_, "what there is", arg("--shelf"), arg("--tag"), sort, as_json, name="list")
    verb(show, "all about one item", name)
    verb(search, "find by a part of the name", arg("text"))
    verb(shelves, "the shelves and how many items are on each")
    verb(expiring, "what goes bad soon", today, arg("--within", type=int, default=7, metavar="DAYS"))
    verb(suggest, "what to eat first", today)
    verb(keep, "how much to keep in stock", name, quantity, unit)
    verb(shopping, "what to buy", as_json)
    verb(cook, "take out what a recipe needs", arg("recipe"), arg("--guests", type=int, default=1))
    verb(export, "print everything", arg("--format", choices=["csv", "json"], default="json"))
    verb(import_, "read an export", arg("file"), arg("--add", action="store_true"), name="import")
    verb(undo, "take back the last step")
    verb(log, "the last steps", arg("--limit", type=int, default=10))
    verb(stats, "the pantry in numbers")
    verb(scan, "look up a barcode", arg("barcode"))
    return top


def main():
    asked = parser().parse_args()
    try:
        print(asked.does(asked))
    except Refusal as refusal:
        print(f"pantry: {refusal}", file=sys.stderr)
        return 1
    return 0
