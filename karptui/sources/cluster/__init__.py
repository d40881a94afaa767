"""A live cluster: kubeconfig, credentials, one list and watch per kind."""

from __future__ import annotations
