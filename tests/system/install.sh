#!/bin/sh
# What the system tests need beyond Python. What cannot be had is skipped by its tests, with the reason.
if ! command -v chromium >/dev/null 2>&1; then
    if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        echo "Installing chromium …"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
    else
        echo "chromium is not installed, and cannot be installed here: browser tests will be skipped."
    fi
fi

# axe-core finds what keeps people from reading a page; it is kept beside the virtual environment.
AXE_VERSION=4.14.0
AXE="${VENV:-.venv}/axe"
if [ ! -f "$AXE/node_modules/axe-core/axe.min.js" ]; then
    if ! command -v npm >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        echo "Installing npm …"
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq npm >/dev/null
    fi
    if command -v npm >/dev/null 2>&1; then
        echo "Installing axe-core …"
        npm install --silent --no-audit --no-fund --no-save --prefix "$AXE" "axe-core@$AXE_VERSION" >/dev/null 2>&1 ||
            echo "axe-core cannot be installed here: its test will be skipped."
    else
        echo "npm is not installed, and cannot be installed here: the test with axe-core will be skipped."
    fi
fi
exit 0
