#!/bin/sh
echo blue >/app/answer.txt
