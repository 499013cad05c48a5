#!/bin/sh
echo white >/app/answer.txt
