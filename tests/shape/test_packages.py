"""Who has the source package has the product: it can be installed, tested and read without the repository."""

from hatchling.builders.sdist import SdistBuilder

from tests.shape.sources import ROOT, kept

#: is in every source package, whatever is said
ALWAYS = {"pyproject.toml"}


def test_the_source_package_has_all_that_the_repository_keeps() -> None:
    packed = {file.relative_path for file in SdistBuilder(str(ROOT)).recurse_included_files()} | ALWAYS
    assert [path for path in kept() if path not in packed and not path.startswith(".")] == []
