"""The files that agents may not edit, whatever their tests need."""

#: What no agent may edit unless its profile allows it: files that decide how tests are run, who reviews and what is
#: installed. A pattern without a slash matches a name at any depth.
DENIED = (
    ".git*",
    ".github/**",
    ".gitlab-ci*",
    ".circleci/**",
    ".buildkite/**",
    "Jenkinsfile",
    "azure-pipelines*",
    "*.review.json",
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "sitecustomize.py",
    "usercustomize.py",
    "pytest.py",
    "pytest/**",
    "_pytest/**",
    "*.lock",
    "*.lockb",
    "package-lock.json",
    "pnpm-lock.yaml",
    "requirements*.txt",
    "go.sum",
)
