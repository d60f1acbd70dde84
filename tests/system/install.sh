#!/bin/sh
# What the system tests need beyond Python. What cannot be had is skipped by its tests, with the reason.
command -v chromium >/dev/null 2>&1 && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "Installing chromium …"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
else
    echo "chromium is not installed, and cannot be installed here: browser tests will be skipped."
fi
exit 0
