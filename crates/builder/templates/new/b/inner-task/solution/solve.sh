#!/bin/sh
echo "{{answer}}" >/app/answer.txt
