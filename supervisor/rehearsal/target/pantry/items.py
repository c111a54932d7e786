"""What can be done with the items of a pantry: plain functions on plain dictionaries."""

from datetime import date

from pantry import Refusal


def find(items, name):
    for item in items:
        if item["name"] == name:
            return item
    raise Refusal(f"no {name} in the pantry")


def add(items, name, quantity, unit, shelf="pantry", best_before=None, tags=()):
    """Put an item on its shelf, or more of one that is there."""
    if quantity <= 0:
        raise Refusal("a quantity is more than nothing")
    for item in items:
        if item["name"] == name:
            if item["unit"] != unit:
                raise Refusal(f"{name} is counted in {item['unit']}, not in {unit}")
            item["quantity"] = quantity
            return item
    item = {
        "name": name,
        "quantity": quantity,
        "unit": unit,
        "shelf": shelf,
        "best_before": best_before,
        "tags": list(tags),
    }
    items.append(item)
    return item


def use(items, name, quantity):
    """Take some of an item; the last of it takes the item off the list."""
    item = find(items, name)
    left = round(item["quantity"] - quantity, 3)
    item["quantity"] = left
    if left == 0:
        items.remove(item)
    return left


def use_all(items, name):
    items.remove(find(items, name))


def move(items, name, shelf):
    find(items, name)["shelf"] = shelf


def tag(items, name, tags):
    item = find(items, name)
    item["tags"] += [new for new in tags if new not in item["tags"]]


def untag(items, name, tags):
    item = find(items, name)
    item["tags"] = [old for old in item["tags"] if old in tags]


def search(items, text):
    return [item for item in items if text in item["name"]]


def in_order(items, by):
    """Sorted by name, quantity or best-before date; what never spoils comes last."""
    if by == "best-before":
        return sorted(items, key=lambda item: item["best_before"] or "")
    return sorted(items, key=lambda item: item[by])


def days_left(item, today):
    return (date.fromisoformat(item["best_before"]) - today).days


def expiring(items, today, within):
    """What is best before some day of the next `within` days, the last of them included."""
    dated = [item for item in items if item["best_before"]]
    return in_order([item for item in dated if days_left(item, today) < within], "best-before")


def suggest(items, today):
    """What to eat first: of all that is still good, what expires first."""
    good = [item for item in items if item["best_before"] and days_left(item, today) >= 0]
    if not good:
        raise Refusal("nothing has to be eaten soon")
    good = in_order(good, "best-before")
    return good[-1]


def missing(items, keep):
    """What to buy, so that there is as much of everything as one wants to keep."""
    stock = {item["name"]: item for item in items}
    wanted = []
    for name, (quantity, unit) in sorted(keep.items()):
        item = stock.get(name)
        there = item["quantity"] if item and item["unit"] == unit else 0
        if there < quantity:
            wanted.append({"name": name, "quantity": round(quantity - there, 3), "unit": unit})
    return wanted
