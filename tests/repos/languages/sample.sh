#!/usr/bin/env bash
#
# Deploys the thing to where it should be.

set -euo pipefail
. ./common.sh

LIMIT=10

# Prints usage.
usage() {
  echo "usage"
}

function deploy {
  usage
}

deploy "$@"
