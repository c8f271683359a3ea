# shellcheck shell=bash
# What the scripts share: find uv or fetch it, let it install the packages, and say what takes time.
# Bash 3.2, which macOS has, is enough.

UV_VERSION=0.13.8 # fetched when this machine has no uv that works
NAME=${0##*/}
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit
export NO_MKDOCS_2_WARNING=1 # Material's notice about its future, at each build
unset VIRTUAL_ENV # uv would warn that another environment is active
set -E # a command that fails in a function, and stops the script, is named too
trap 'printf "%s: stopped at line %s: %s\n" "$NAME" "$LINENO" "$BASH_COMMAND" >&2' ERR
trap 'printf "\n%s: stopped\n" "$NAME" >&2; exit 130' INT

say() {
  printf '[%4d s] %s\n' "$SECONDS" "$*"
}

die() {
  printf '%s: %s\n' "$NAME" "$*" >&2
  exit 1
}

# help: print the comment that opens the script, and stop.
help() {
  sed -n '2,/^set /s/^# \{0,1\}//p' "scripts/$NAME"
  exit
}

# A program on PATH may be a shim that only says 'command not found', and a uv may be older than pyproject.toml asks for:
# what counts is whether it runs here.
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

fetch_uv() {
  find_python || die "needs Python 3.9 or newer, or uv, and found neither on PATH. Install one of them and try again."
  say "no uv that works here: fetching uv $UV_VERSION into .uv/ (about 20 MB)"
  rm -rf .uv
  # Debian's python3 comes without venv until python3-venv is installed; pip alone will do.
  if runs_here "$PYTHON" -c 'import ensurepip'; then
    "$PYTHON" -m venv .uv && .uv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION"
  elif runs_here "$PYTHON" -m pip --version; then
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --target .uv "uv==$UV_VERSION"
  else
    die "$PYTHON has neither venv nor pip. Install them (Debian: apt-get install python3-venv) or uv, and try again."
  fi || die "could not fetch uv $UV_VERSION: pip's message stands above. Check the network, or install uv yourself."
  find_uv || die "the uv in .uv/ does not run. Remove .uv/, install uv yourself, and try again."
}

# install_packages: bring the project's environment up to date.
install_packages() {
  local place=${UV_PROJECT_ENVIRONMENT:-.venv}
  find_uv || fetch_uv
  if [ -d "$place" ]; then
    say "bringing $place up to date"
  else
    say "installing the packages into $place (the first time this downloads them; README.md says how much)"
  fi
  "$UV" sync || die "could not install the packages: uv's message stands above. README.md lists the platforms."
}

# in_project COMMAND...: run a command of the project's environment.
in_project() {
  "$UV" run --no-sync "$@"
}
