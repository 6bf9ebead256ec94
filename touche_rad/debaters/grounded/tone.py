"""The tone of a statement: whether it speaks well or ill of its matter, by the words it uses."""

from __future__ import annotations

from functools import lru_cache

from touche_rad.debaters.grounded.terms import is_negation, stem
from touche_rad.text import words

_WELL = """
good better best benefit beneficial advantage advantageous improve improvement help helpful protect
protection safe safety safer secure freedom liberty fair fairness just justice equal equality
effective efficient efficiently success successful succeed gain useful valuable value important
essential vital necessary worth worthwhile healthy health positive progress promote foster encourage
enable empower support strengthen enhance save solve solution reliable sustainable legitimate moral
ethical humane happy happiness love respect dignity trust opportunity prosper prosperity flourish
thrive reward enjoy allow desirable preferable reasonable rational wise sound reduce alleviate
mitigate possible capable able cheap cheaper affordable accurate clear honest stable harmless
inclusive diverse creative innovative peaceful compassion justified acceptable right
"""
_ILL = """
bad worse worst harm harmful hurt damage damaging destroy destruction destructive dangerous danger
risk risky threat threaten threatening unsafe unfair unjust injustice inequality unequal
discriminate discrimination discriminatory oppress oppression oppressive exploit exploitation abuse
abusive violence violent kill death die suffer suffering pain painful cruel cruelty cost costly
expensive burden waste wasteful inefficient ineffective fail failure useless worthless unnecessary
pointless wrong immoral unethical evil corrupt corruption fraud crime criminal illegal lose loss
problem problematic difficult difficulty impossible unable limit limited restrict restriction
restrictive undermine weaken erode hinder impede disadvantage disrupt exclude exclusion marginalize
segregate bias biased prejudice racist sexist hate hatred fear distrust mistrust mislead misleading
false deceptive stigma shame humiliate violate violation coerce coercion forced poverty poor debt
crisis collapse decline worsen exacerbate perpetuate reinforce alienate isolate neglect ignore
impractical unrealistic unsustainable unreliable irrational arbitrary unhealthy disease sick
addiction toxic pollute pollution war conflict chaos unstable punish ban abolish
"""
_REACH = 3
"""How many words a negation reaches ahead."""
_SIGNS = {stem(word): 1 for word in _WELL.split()} | {stem(word): -1 for word in _ILL.split()}


@lru_cache(maxsize=32_768)
def tone(text: str) -> float:
    """Return -1..1: below 0 it speaks ill, above 0 well, 0 neither or both alike."""
    total, seen, turned = 0, 0, 0
    for word in words(text):
        if is_negation(word):
            turned = _REACH + 1
        elif sign := _SIGNS.get(stem(word), 0):
            total += -sign if turned else sign
            seen += 1
        turned = max(0, turned - 1)
    return total / (seen + 1)
