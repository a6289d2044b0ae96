"""The public names of the package that are not in `holdfast` itself."""

from holdfast.governance.register import ChangeRecord as ChangeRecord
from holdfast.governance.register import RegisterCheck as RegisterCheck
from holdfast.governance.register import append_record as append_record
from holdfast.governance.register import change_record as change_record
from holdfast.governance.register import check_register as check_register
from holdfast.governance.register import data_fingerprint as data_fingerprint
from holdfast.governance.register import find_model as find_model
from holdfast.governance.register import model_hash as model_hash
from holdfast.governance.register import read_register as read_register
from holdfast.governance.verdict import PolicyLine as PolicyLine
from holdfast.governance.verdict import PolicyVerdict as PolicyVerdict
