"""Tags: what shelves cannot say."""

from supervisor.e2e import expect


def test_list_by_tag(e2e, stocked):
    """The list by a tag has what carries it, and nothing else.

    Tutorial block:
        # tags say what shelves cannot
        pantry tag rice staple grain
        pantry list --tag staple
    """
    expect(e2e.run("pantry tag rice staple grain", comment="tags say what shelves cannot")).to_succeed()
    listed = e2e.run("pantry list --tag staple")
    expect(listed.stdout).to_contain("ri")


def test_tags_are_kept_in_order(e2e):
    """Tags are shown in the order in which they were given.

    Tutorial block:
        # tags say what shelves cannot
        pantry tag rice staple grain
        pantry list --tag staple
    """
    e2e.run("pantry add rice 2 kg --tag staple", comment="one tag at once, one later")
    e2e.run("pantry tag rice grain")
    expect(e2e.run("pantry show rice").stdout).to_contain("staple, grain")


def test_untag_takes_a_tag_off(e2e, stocked):
    """The tag is gone, the others stay.

    Tutorial block:
        # a tag can be taken off again
        pantry untag basil fresh
    """
    expect(e2e.run("pantry untag basil fresh", comment="a tag can be taken off")).to_succeed()
    expect(e2e.run("pantry list --tag fresh").stdout).to_contain("nothing")
