#!/bin/sh
echo black >/app/answer.txt
