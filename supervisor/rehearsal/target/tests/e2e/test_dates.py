"""Dates: what goes bad, and when."""

from supervisor.e2e import expect


def test_expiring_within_a_week(e2e, stocked):
    """What goes bad within the days asked for is named.

    Tutorial block:
        # what goes bad within a week?
        pantry expiring --on 2026-03-01 --within 7
    """
    soon = e2e.run("pantry expiring --on 2026-03-01 --within 7", comment="within a week").stdout
    expect(soon).to_contain("milk  3 days left")
    expect(soon).to_contain("honey")


def test_expiring_includes_the_last_day(e2e, stocked):
    """What goes bad on the last of these days is named too.

    Tutorial block:
        # what goes bad within a week?
        pantry expiring --on 2026-03-01 --within 7
    """
    soon = e2e.run("pantry expiring --on 2026-03-01 --within 3", comment="the milk has three days left")
    expect(soon.stdout).to_contain("milk")


def test_expired_items_are_marked(e2e, stocked):
    """What is past its date is marked as such.

    Tutorial block:
        # what goes bad within a week?
        pantry expiring --on 2026-03-01 --within 7
    """
    late = e2e.run("pantry expiring --on 2026-03-10 --within 7", comment="too late for the milk").stdout
    expect(late).to_contain("milk  EXPIRED 6 days ago")


def test_suggest_names_what_expires_first(e2e, stocked):
    """Eat first what goes bad first.

    Tutorial block:
        # what shall we eat first?
        pantry suggest --on 2026-03-01
    """
    expect(e2e.run("pantry suggest --on 2026-03-01", comment="what shall we eat?").stdout).to_contain("milk")
