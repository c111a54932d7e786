#!/usr/bin/env bash
# agent-supervisor, from the first look to an upgrade in the night. Read it from top to bottom.
#
# You are in a checkout of your own repository, whose end-to-end tests are in tests/e2e.
# Every block is proved by a test in tests/e2e/supervisorctl of this project.
set -euo pipefail

##############################################################################
# START
##############################################################################

# is all there that the daemon and its agents need? each finding says what to do about it
supervisorctl doctor

# every verb explains itself, with an example
supervisorctl submit --help

# start the daemon; without a word of configuration it runs four agents at a time on this machine
# (as a service that outlives your login: docs/systemd.md)
supervisord &

# does it answer?
supervisorctl version

# what is open, and what does it run on?
supervisorctl status

# to try things out, another daemon beside it, with a place of its own
supervisord --state-dir ~/trial/state --socket ~/trial/ctl.sock &

# say which one you mean, for one command or for the whole shell
supervisorctl status --socket ~/trial/ctl.sock
export SUPERVISOR_SOCKET=~/trial/ctl.sock
supervisorctl status

##############################################################################
# CONFIGURATION
##############################################################################

# a file adds pools of agents and profiles of work; config/default.toml has every key
cat > ~/supervisor.toml <<'END'
[[pools]]
name = "local"
slots = 2

[[pools]]
name = "modal"
provider = "modal"
slots = 100
build_args = ["--timeout=14400"]

[profiles.modal]
inherits = "default"
pools = ["modal"]

[profiles.overnight]
inherits = "default"
window = "22:00-06:00"
slots = 1
END

# could a daemon start with it? a key that is misspelt is named, and the one that was meant
supervisorctl config check ~/supervisor.toml

# what does it come to? every key with its value, and where that is from
supervisorctl config show ~/supervisor.toml --origin

# the environment wins over the file
SUPERVISOR_VERIFY_SLOTS=3 supervisorctl config show ~/supervisor.toml --origin | grep verify_slots

# the same for a program
supervisorctl config show ~/supervisor.toml --json | jq '.config.profiles | keys'

# is all there that this configuration needs?
supervisorctl doctor --config ~/supervisor.toml

# start with it; `daemon` will be needed to stop it
supervisord --config ~/supervisor.toml &
daemon=$!

# the file may change while agents work
sed -i 's/^slots = 2/slots = 6/' ~/supervisor.toml
supervisorctl reload

##############################################################################
# SUBMIT
##############################################################################

# what would be submitted? pytest collects, in your repository's own environment
supervisorctl submit tests/e2e --dry-run

# an agent on every test: prints the batch
supervisorctl submit tests/e2e

# on one test only
supervisorctl submit tests/e2e/test_greet.py::test_hello

# what stands after -- is for pytest
supervisorctl submit tests/e2e -- -k "hello or goodbye"

# from elsewhere, name the checkout
cd /
supervisorctl submit --repo ~/greet

# before all that waits already
supervisorctl submit tests/e2e --priority 10

# agents start from the last commit: uncommitted work is refused, unless you say to leave it out
echo "to do" > notes.txt
supervisorctl submit tests/e2e --allow-dirty
rm notes.txt

# submit, and come back when all is over
supervisorctl submit tests/e2e --wait

##############################################################################
# LOOK
##############################################################################

# watch it go; on a terminal this is a live picture. Ctrl-C ends the looking, nothing else
supervisorctl follow

# how does the batch stand? its id may be shortened, as long as it is clear which one is meant
supervisorctl status "${batch:0:4}"

# its jobs, one line each; without an id, of the batch that was submitted last
supervisorctl jobs

# only those with an outcome that you care about
supervisorctl jobs "$batch" --state failed

# all about one job, and what has happened to it
supervisorctl job "$batch.1"

# what has happened lately, to whatever
supervisorctl events -n 5

# all that has happened to one batch, and what will
supervisorctl events "$batch" --follow

# what an agent said and did; --follow goes on as long as it works
supervisorctl logs "$batch.1"

# the commits of an agent are there before anything is merged, under a ref of the daemon's own
repository=$(echo ~/.local/state/agent-supervisor/repos/greet-*.git)
git --git-dir "$repository" log --oneline "refs/supervisor/$batch/1/1"

##############################################################################
# REVIEW
##############################################################################

# what came of it, what did it take, and what is to be done next?
supervisorctl report "$batch"

# the same as a page, to send around
supervisorctl report "$batch" --html night.html

# all that held is on one branch in your repository: look at it, and merge it as you merge everything
branch=$(supervisorctl status "$batch" --json | jq -r .batch.branch)
git diff "main...$branch"

##############################################################################
# IN SCRIPTS
##############################################################################

# keep the id of the batch
batch=$(supervisorctl submit tests/e2e --json | jq -r .batch)

# 0: all went well; 1: some tests need you; anything else: it did not get that far
if supervisorctl wait "$batch"; then
    echo "the night went well"
else
    echo "exit $?: see supervisorctl jobs $batch"
fi

# wait so long and no longer
supervisorctl wait "$batch" --timeout 1 || test $? = 124

# every verb answers a program in JSON
supervisorctl status "$batch" --json | jq -c .batch.outcomes

# which tests are better than they were?
supervisorctl jobs "$batch" --json | jq -r '.rows[] | select(.outcome == "improved") | .test'

# put new agents on the tests that failed
supervisorctl jobs "$batch" --json |
    jq -r '.rows[] | select(.outcome == "failed") | .test' |
    xargs supervisorctl submit

# errors are JSON too, with what to do about them
supervisorctl status no-such-batch --json | jq -r .error.hint

# events go on from any number, with no gap and no repeat, whoever was restarted meanwhile
seq=$(supervisorctl events -n 1 --json | jq .seq)
supervisorctl submit tests/e2e
supervisorctl events --after "$seq" --json | jq -r .kind

##############################################################################
# STEER
##############################################################################

# launch nothing more for now; agents at work go on
supervisorctl pause --reason "the disk is full"

# and on
supervisorctl resume

# the same for one batch
supervisorctl pause "$batch"
supervisorctl resume "$batch"

# fewer agents, or more; when there is one pool only, its name goes without saying
supervisorctl slots local 1

# cancel a job: what its agent has done so far is rescued
supervisorctl cancel "$batch.2"

# or a whole batch
supervisorctl cancel "$batch"

# let a job go again
supervisorctl retry "$batch.3"

# or all those of a batch that did not end well, while others of it are still at work
supervisorctl retry "$batch"

# a straggler need not hold up the others: a branch of what is done so far, while it goes on
supervisorctl integrate "$batch"

##############################################################################
# WORK THAT IS NOT MERGED
##############################################################################

# no work is lost: what was rescued, rejected or cancelled is listed, of all batches or of one
supervisorctl work
supervisorctl work "$batch"

# have it as a branch of your repository; nothing is checked out, and no other branch is overwritten
supervisorctl work "$batch.1" --take
git log --oneline "supervisor/work/$batch.1"

# under a name of your own
supervisorctl work "$batch.1" --take --branch polite

# whose work waits? for a program
supervisorctl work --json | jq -r '.rows[].job'

# what failed in a batch that is over goes again as a batch of its own, from the same commit
again=$(supervisorctl retry "$batch")

# or from where you are now
supervisorctl retry "$batch" --onto HEAD

##############################################################################
# PROFILES AND THE NIGHT
##############################################################################

# from here to a hundred agents elsewhere is one word
supervisorctl submit tests/e2e --profile modal

# one agent at a time through the night: outside its window nothing is launched, what runs may finish
supervisorctl submit tests/e2e --profile overnight
supervisorctl status

# your own agent: any program that obeys the agent contract (README.md)
cat >> ~/supervisor.toml <<'END'

[profiles.ours]
inherits = "default"
agent = "command"
command = ["our-agent", "--careful"]
END
supervisorctl reload
supervisorctl submit tests/e2e --profile ours

##############################################################################
# RESTART AND UPGRADE
##############################################################################

# stop the daemon: its agents live on, and work
kill "$daemon"

# start it again, of a later version if you like: it finds its agents and goes on
supervisord --config ~/supervisor.toml &
daemon=$!

# who waits, or follows, is not disturbed by any of that
supervisorctl wait "$batch"

# a signal reads the configuration again, too
kill -HUP "$daemon"

# before the machine goes down: launch nothing more, and wait until no agent is left
supervisorctl drain --deadline 1800

# a drain, too, ends with a resume
supervisorctl resume

# a journal that a disk has damaged is refused, never started over: save what can be read, then start
supervisord --config ~/supervisor.toml --salvage
supervisord --config ~/supervisor.toml &
supervisorctl resume     # what was lost may have had agents: nothing is launched until somebody has looked

##############################################################################
# COMPLETION
##############################################################################

# verbs, options, and the ids of batches and jobs, in this shell
source <(supervisorctl completion bash)

# in every shell from now on
mkdir -p ~/.local/share/bash-completion/completions
supervisorctl completion bash > ~/.local/share/bash-completion/completions/supervisorctl

# for zsh and fish
mkdir -p ~/.zfunc ~/.config/fish/completions
supervisorctl completion zsh > ~/.zfunc/_supervisorctl
supervisorctl completion fish > ~/.config/fish/completions/supervisorctl.fish

##############################################################################
# TESTS FROM A TUTORIAL
##############################################################################

# a tutorial like this one is made of blocks; list yours. This and what follows needs no daemon
supervisorctl tutorial blocks tutorial.sh

# what has still to be written? a comment without a command
supervisorctl tutorial blocks tutorial.sh --json | jq '.seeds'

# is every block cited by a test, and the other way round?
supervisorctl tutorial check tutorial.sh --tests tests/e2e

# which tests prove a block, and how closely?
supervisorctl tutorial check tutorial.sh --tests tests/e2e --json | jq '.by_block'

# the tutorial was edited: let its citations follow
sed -i 's/greet hello/greet hello --name World/' tutorial.sh
supervisorctl tutorial check tutorial.sh --tests tests/e2e --fix

# begin with the gaps that there are, and let them only shrink
supervisorctl tutorial check tutorial.sh --tests tests/e2e --baseline gaps.json --update-baseline

# where the build shows it
supervisorctl tutorial check tutorial.sh --tests tests/e2e --junit tutorial.xml --annotations github

# run the tests, and keep what they did and saw
pytest tests/e2e --e2e-dir results

# look at it: one page, with each block, its tests, their transcripts and recordings
supervisorctl tutorial view results --tutorial tutorial.sh -o results.html

# what is new since the last run?
pytest tests/e2e --e2e-dir results.new
supervisorctl tutorial view results.new --compare results --tutorial tutorial.sh -o news.html

##############################################################################
# WRITERS
##############################################################################

# let writers fill what has still to be written, a job for each comment without a command
batch=$(supervisorctl tutorial fill tutorial.sh --json | jq -r .batch)
supervisorctl wait "$batch"

# look at what they propose, with what it printed; what you accept is written into the tutorial
supervisorctl tutorial fill tutorial.sh --review "$batch"
supervisorctl tutorial fill tutorial.sh --accept "$batch.1"

# let writers bring the tests up to the tutorial, and take what was proven, as commits
batch=$(supervisorctl tutorial sync tutorial.sh --tests tests/e2e --json | jq -r .batch)
supervisorctl wait "$batch"
supervisorctl tutorial sync tutorial.sh --accept "$batch"

# the same as a slash command of your own coding agent
supervisorctl tutorial install-command
