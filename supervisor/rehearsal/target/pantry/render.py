"""How items look in a terminal."""


def number(quantity):
    """2.0 is read as 2, and 0.50 as 0.5."""
    return f"{quantity:g}"


def amount(item):
    return f"{number(item['quantity'])} {item['unit']}"


def line(item):
    """One item of a list, such as `milk  1 l (best before 2026-03-04)`."""
    return f"{item['name']}  {item['quantity']} {item['unit']}"


def details(item):
    """Everything about one item, a fact a line."""
    facts = {
        "name": item["name"],
        "amount": amount(item),
        "shelf": item["shelf"],
        "best before": item["best_before"] or "keeps",
        "tags": ", ".join(item["tags"]) or "none",
    }
    return "\n".join(f"{fact + ':':<13}{value}" for fact, value in facts.items())


def expiry(item, days):
    if days < 0:
        return f"{item['name']}  EXPIRED {-days} days ago"
    return f"{item['name']}  {days} days left"


def checklist(wanted):
    return "\n".join(f"[ ] {each['name']} {amount(each)}" for each in wanted)
