# shellcheck shell=bash
# Functions that the scripts share: they find or fetch uv, install the packages with it, and print progress.
# They run in Bash 3.2, the version of macOS.

NAME=${0##*/}
SELF=$(cd "$(dirname "$0")" && pwd)/$NAME
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit
export XLA_INSPECT_CACHE=${XLA_INSPECT_CACHE:-$ROOT/.cache/xla_inspect} # the tool's default is in the user's home
export NO_MKDOCS_2_WARNING=1 # otherwise Material prints a notice about MkDocs 2 at each build
unset VIRTUAL_ENV # uv would warn that another environment is active
set -E # the next trap then also reports commands that fail inside functions
trap 'printf "%s: stopped at line %s: %s\n" "$NAME" "$LINENO" "$BASH_COMMAND" >&2' ERR
trap 'printf "\n%s: stopped\n" "$NAME" >&2; exit 130' INT

say() {
  printf '[%4d s] %s\n' "$SECONDS" "$*"
}

die() {
  printf '%s: %s\n' "$NAME" "$*" >&2
  exit 1
}

# help: print the comment at the head of the script, and exit.
help() {
  sed -n '2,/^set /s/^# \{0,1\}//p' "$SELF"
  exit
}

# runs_here COMMAND...: test whether a command succeeds in this project, without output. A program on PATH may be a shim
# that only prints 'command not found', and a uv may be older than pyproject.toml requires.
runs_here() {
  "$@" </dev/null >/dev/null 2>&1
}

find_uv() {
  local candidate
  while IFS= read -r candidate; do
    if [ -x "$candidate" ] && runs_here "$candidate" python dir; then
      UV=$candidate
      export UV
      return
    fi
  done < <(type -ap uv || true; printf '%s\n' "$ROOT/.uv/bin/uv" "${HOME:-}/.local/bin/uv" "${HOME:-}/.cargo/bin/uv")
  return 1
}

find_python() {
  local candidate
  while IFS= read -r candidate; do
    if runs_here "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 9))'; then
      PYTHON=$candidate
      return
    fi
  done < <(type -ap python3 python || true)
  return 1
}

# fetch_uv: install the uv that scripts/uv.txt pins by its hash into .uv/, and use it.
fetch_uv() {
  local pinned=(--quiet --disable-pip-version-check --require-hashes --requirement scripts/uv.txt)
  find_python || die "needs Python 3.9 or newer, or uv, and found neither on PATH. Install one of them and try again."
  say "fetching uv into .uv/ (about 20 MB)"
  rm -rf .uv
  # On Debian, python3 has no venv without the package python3-venv; in that case pip alone is used.
  if runs_here "$PYTHON" -c 'import ensurepip'; then
    "$PYTHON" -m venv .uv && .uv/bin/python -m pip install "${pinned[@]}"
  elif runs_here "$PYTHON" -m pip --version; then
    "$PYTHON" -m pip install "${pinned[@]}" --target .uv
  else
    die "$PYTHON has neither venv nor pip. Install them (Debian: apt-get install python3-venv) or uv, and try again."
  fi || die "could not fetch uv: pip's message stands above. Check the network, or install uv yourself."
  UV=$ROOT/.uv/bin/uv
  export UV
  runs_here "$UV" python dir || die "the uv in .uv/ does not run. Remove .uv/, install uv yourself, and try again."
}

# install_packages: create or update the project's environment.
install_packages() {
  local place=${UV_PROJECT_ENVIRONMENT:-.venv}
  find_uv || fetch_uv
  if [ -d "$place" ]; then
    say "bringing $place up to date"
  else
    say "installing the packages into $place (the first time this downloads them; README.md says how much)"
  fi
  "$UV" sync || {
    "$UV" python find >/dev/null 2>&1 || die "uv found no Python $(cat .python-version) here and could not fetch one:" \
      "its message stands above. Install Python $(cat .python-version) (Debian: apt-get install python$(cat .python-version))" \
      "or let uv reach github.com, from which it fetches it, and try again."
    die "could not install the packages: uv's message stands above. README.md lists the platforms."
  }
}

# in_project COMMAND...: run a command in the project's environment.
in_project() {
  "$UV" run --no-sync "$@"
}

# uses_captures: whether compiled captures that the repository publishes may be used; README.md says what this trusts.
uses_captures() {
  [ "${CAPTURES:-}" != off ] && [ "${LIVE:-}" != all ] && [ "$XLA_INSPECT_CACHE" != off ]
}

# fetch_captures: write the published captures that the cache lacks into it, or, where they may not be used, remove those
# that were fetched before. Without them, programs are compiled here.
fetch_captures() {
  if uses_captures; then
    in_project python -m maintaining.captures fetch || true
  elif [ -f "$XLA_INSPECT_CACHE/fetched.json" ]; then
    in_project python -m maintaining.captures forget
  fi
}

# check_captures ADDRESS: in the background, wait until the server there has all pages, then compile a sample of the fetched
# captures again and compare.
check_captures() {
  if uses_captures && [ -f "$XLA_INSPECT_CACHE/fetched.json" ]; then
    in_project nice -n 19 python -m maintaining.capture_check "$1" &
    # shellcheck disable=SC2064 # the process of now
    trap "kill $! 2>/dev/null || true" EXIT
  fi
}

# before_install [OPTION...] MODULE...: run a module that needs only the standard library, without an environment.
before_install() {
  PYTHONPATH="$ROOT/scripts:$ROOT/snippets" "$UV" run --quiet --no-project python -m "$@"
}
