"""The empirical audit: does what the curator sells give away more than the ledger says?"""

from kinfolk.audit.engine import AuditResult, AuditVerdict, audit, plot_svg
from kinfolk.audit.subjects import SUBJECTS, Subject

__all__ = ["SUBJECTS", "AuditResult", "AuditVerdict", "Subject", "audit", "plot_svg"]
