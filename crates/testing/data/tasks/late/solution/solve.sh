#!/bin/bash
touch /app/done; sleep 60
