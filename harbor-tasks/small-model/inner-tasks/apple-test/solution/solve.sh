#!/bin/sh
echo red >/app/answer.txt
