#!/bin/bash
echo "{\"f1\": 0.5, \"acc\": 0.25}" > /logs/verifier/reward.json
