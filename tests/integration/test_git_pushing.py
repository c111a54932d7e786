"""What a branch is pushed to, and who may see the token."""

from pathlib import Path

import pytest

from supervisor.errors import Misconfigured
from supervisor.integration.review.pull_requests import Where, credential
from supervisor.integration.review.pushing import parsed
from tests.integration.github_server import TOKEN

REMOTES = {
    "git@github.com:ann/shop.git": ("github.com", "ann/shop", ""),
    "ssh://git@github.com:22/ann/shop": ("github.com", "ann/shop", ""),
    "https://github.com/ann/shop.git": ("github.com", "ann/shop", ""),
    "https://bob:s%40cret@ghe.example/ann/shop/": ("ghe.example", "ann/shop", "bob:s@cret"),
    "/srv/git/ann/shop.git": ("", "ann/shop", ""),
}


@pytest.mark.parametrize("url", REMOTES)
def test_a_remote_says_where_it_is_and_whose(url: str) -> None:
    remote = parsed(url)
    assert (remote.host, remote.repository, remote.login) == REMOTES[url]
    assert "s%40cret" not in remote.url


@pytest.mark.parametrize(
    ("api", "url", "trusted"),
    [
        ("https://api.github.com", "https://github.com/ann/shop", True),
        ("https://ghe.example/api/v3", "https://ghe.example/ann/shop", True),
        ("https://api.github.com", "https://evil.example/ann/shop", False),
        ("https://api.github.com", "http://github.com/ann/shop", False),
        ("https://api.github.com", "https://github.com.evil.example/ann/shop", False),
        ("https://api.github.com", "/srv/git/shop.git", False),
    ],
)
def test_the_token_goes_to_nobody_else(api: str, url: str, trusted: bool) -> None:
    assert Where(api, lambda: TOKEN).trusts(parsed(url)) is trusted


def test_a_credential_is_read_when_it_is_needed(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="the credential github can't be read: No such file"):
        credential(tmp_path, "credential:github")
    (tmp_path / "github").write_text(f"{TOKEN}\n")
    assert credential(tmp_path, "credential:github") == TOKEN
    with pytest.raises(Misconfigured, match="there is no directory of credentials"):
        credential(None, "credential:github")
